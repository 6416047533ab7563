import type { WasteFile, WasteLoad, WasteStore } from "../../model/waste/waste.ts";
import { isSameFunction, type Partner, Partners } from "./partners.ts";
import { MOST_SHARE, PLAIN, type WasteFinding } from "./waste-finding.ts";

const SPILLS = "local variables in memory, overwritten where they are";
const SILENT_SPILLS = "local variables in memory, stored again as they are";
const LOADED_SPILLS = "local variables in memory, loaded again";

/** Sums up what is harmless as a rule. */
export type Fold = (what: string, bytes: number) => void;

/** What the stores and loads of a run did in vain, site by site. */
export class AccessFindings {
  readonly #partners: Partners;
  readonly #fold: Fold;

  constructor(file: WasteFile, fold: Fold) {
    this.#partners = new Partners(file);
    this.#fold = fold;
  }

  /** Stores that are overwritten before they are read, or change nothing. */
  ofStore(store: WasteStore, index: number): WasteFinding[] {
    const repeated = this.#partners.of("silent", index);
    const each = store.bytes_written / store.nof_stores;
    const shape = {
      ...PLAIN,
      ips: store.ips,
      operations: store.nof_stores,
      class: store.class,
      bytesEach: Number.isInteger(each) ? each : undefined,
      isInLoop: (store.nof_again ?? 0) >= MOST_SHARE * store.nof_stores,
      repeatsItself: repeated.isOwn && store.nof_silent >= MOST_SHARE * store.nof_stores,
    };
    return [...this.#dead(store, index, shape), ...this.#silent(store, repeated, shape)];
  }

  #dead(store: WasteStore, index: number, shape: StoreShape): WasteFinding[] {
    const { dead_overwritten: dead, bytes_written: written } = store;
    if (dead <= 0) return [];
    const share = dead / written;
    const overwritten = this.#partners.of("overwritten", index);
    if (store.class === "calloc") {
      if (share >= MOST_SHARE) return [{ ...shape, kind: "clear", bytes: dead, share, ...overwritten }];
      this.#fold("zeros of calloc that the program overwrites in part", dead);
    } else if (store.class === "atomic") this.#fold("atomic variables", dead);
    else if (store.class === "host") this.#fold("results of host calls that nobody looks at", dead);
    else if (isSpill(store, overwritten.partner)) this.#fold(SPILLS, dead);
    else return [{ ...shape, kind: "dead", bytes: dead, share, ...overwritten }];
    return [];
  }

  #silent(
    store: WasteStore,
    repeated: { partner: Partner | undefined; isOwn: boolean },
    shape: StoreShape,
  ): WasteFinding[] {
    const { nof_silent: silent, nof_stores: stores, bytes_silent: bytes } = store;
    if (silent === 0 || store.class === "atomic") return [];
    if (isSpill(store, repeated.partner)) {
      this.#fold(SILENT_SPILLS, bytes);
      return [];
    }
    if (store.update === true) {
      this.#fold("values that are computed anew and stay as they are", bytes);
      return [];
    }
    const clearsCleared = (store.silent_over_zero ?? 0) * 2 > stores;
    return [
      { ...shape, kind: "silent", bytes, wasted: silent, share: silent / stores, ...repeated, clearsCleared },
    ];
  }

  /**
   * Loads of what the same run of a loop had loaded from the same place before, unchanged: a local variable could hold it. What is
   * loaded again from further away could not: it may have left the processor's registers long ago.
   */
  ofLoad(load: WasteLoad, index: number): WasteFinding[] {
    const found = load.nof_redundant ?? load.nof_silent;
    const { nof_loads: loads, nof_again: again = 0 } = load;
    if (found <= 0 || load.class === "atomic") return [];
    const before = this.#partners.of("redundant", index);
    if (isSpill(load, before.partner)) {
      this.#fold(LOADED_SPILLS, Math.round((load.bytes_loaded * found) / loads));
      return [];
    }
    const wasted = Math.min(found, again);
    if (wasted === 0) return [];
    return [
      {
        ...PLAIN,
        kind: "redundant",
        ips: load.ips,
        bytes: Math.round((load.bytes_loaded * wasted) / loads),
        operations: loads,
        wasted,
        share: wasted / loads,
        class: load.class,
        value: (load.values ?? []).find((value) => value.loads * 2 >= found),
        ...before,
      },
    ];
  }
}

type StoreShape = Omit<WasteFinding, "kind" | "bytes" | "share">;

/** A local variable that lives in memory, as far as only its function has to do with it. */
function isSpill(site: WasteStore | WasteLoad, other: Partner | undefined): boolean {
  return site.frame === true && (other === undefined || isSameFunction(site.ips, other.ips));
}
