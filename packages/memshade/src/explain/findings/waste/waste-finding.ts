import type {
  WasteBlocks,
  WasteFile,
  WasteFrame,
  WasteIp,
  WasteLoad,
  WasteStore,
  WasteUnreadField,
  WasteValue,
} from "../../../profile/model/waste.ts";
import { ownFrame } from "../../analyses/frames/own-place.ts";

/** The function that undid what a site did, repeated it, or loaded before it. */
export interface Partner {
  /** Its place with most bytes. */
  ips: readonly WasteIp[];
  /** Of all its places; there are `places`. */
  bytes: number;
  places: number;
}

type Kind = "overwritten" | "silent" | "redundant";

/** Who met whom, by the dead store, the silent store, or the load that comes again. */
export class Partners {
  /** Per kind and site, partners by their functions, with the bytes of their heaviest place. */
  readonly #found = new Map<string, Map<string, Partner & { most: number; isOwn: boolean }>>();

  constructor(file: WasteFile) {
    for (const { kind, first, second, bytes } of file.pairs ?? []) {
      if (kind !== "overwritten" && kind !== "silent" && kind !== "redundant") continue;
      const [site, other] = kind === "overwritten" ? [first, second] : [second, first];
      if (site === undefined || other === undefined) continue;
      const ips = file[kind === "redundant" ? "loads" : "stores"][other]?.ips ?? [];
      const key = `${kind} ${site}`;
      const groups = this.#found.get(key) ?? new Map<string, Partner & { most: number; isOwn: boolean }>();
      this.#found.set(key, groups);
      const isOwn = other === site;
      const group = isOwn ? "" : (functionOf(ips) ?? `at ${other}`);
      const known = groups.get(group);
      groups.set(group, {
        ips: known === undefined || bytes > known.most ? ips : known.ips,
        bytes: (known?.bytes ?? 0) + bytes,
        places: (known?.places ?? 0) + 1,
        most: Math.max(known?.most ?? 0, bytes),
        isOwn,
      });
    }
  }

  /** The function with most of the bytes; `isOwn`: it is the site itself. */
  of(kind: Kind, site: number): { partner: Partner | undefined; isOwn: boolean } {
    let heaviest: (Partner & { isOwn: boolean }) | undefined;
    for (const group of this.#found.get(`${kind} ${site}`)?.values() ?? [])
      if (heaviest === undefined || group.bytes > heaviest.bytes) heaviest = group;
    if (heaviest === undefined) return { partner: undefined, isOwn: false };
    const { ips, bytes, places, isOwn } = heaviest;
    return { partner: { ips, bytes, places }, isOwn };
  }
}

/** The program's own function around a place, else the library's. */
export function functionOf([ip]: readonly WasteIp[]): string | undefined {
  return ip && (ownFrame<WasteFrame>(ip)?.function ?? ip.function);
}

/** Whether two places are in one function, inlined or not. */
export function isSameFunction(a: readonly WasteIp[], b: readonly WasteIp[]): boolean {
  const name = functionOf(a);
  return name !== undefined && name === functionOf(b);
}

/** One place that wastes memory operations, with what it costs. */
export interface WasteFinding {
  /** A word of the glossary. */
  kind: string;
  ips: readonly WasteIp[];
  /** The library whose code it is in; undefined for the program's own, and for what the program asked a library for. */
  library: string | undefined;
  /** Its code has neither a name nor a line. */
  isUnnamed: boolean;
  /** Places of one function that the finding is about, where no lines tell them apart; else 1. */
  places: number;
  /** Who called it, most bytes first, where that is known and there are several. */
  callers: readonly WasteCaller[];
  /** Wasted bytes: dead, silently stored again, loaded again, never read, or copied to where there was more room. */
  bytes: number;
  /** What goes if it is mended, as a part (0…1) of all bytes that the program moves; of cold members, of those that it allocates. */
  part: number;
  /** Stores, loads, blocks or reallocations of the site, and how many of them are wasted where that is known. */
  operations: number;
  wasted: number | undefined;
  /** `bytes` as a part of the site's bytes, 0…1. */
  share: number;
  /** Who undid it, repeated by whom, or who loaded before. */
  partner: Partner | undefined;
  /** The same place every time: the site kills or repeats itself. */
  isOwn: boolean;
  /** Nearly all of its stores go to the place that the same loop had stored to before. */
  isInLoop: boolean;
  class: string;
  /** Bytes of each store, where they are always as many. */
  bytesEach: number | undefined;
  /** Of loads that repeat: the value that most of them find, if one does. */
  value: WasteValue | undefined;
  /** Nearly all of its stores write what the site itself has stored there. */
  repeatsItself: boolean;
  /** It stores zeros where the system had put some, and nobody had stored since. */
  clearsCleared: boolean;
  /** Of blocks and their members. */
  object: { site: WasteBlocks; fields: readonly WasteUnreadField[] } | undefined;
  /** The same place wastes in another way too. */
  also: WasteFinding | undefined;
}

/** A caller of a place, with its own callers, and what the place wastes for it. */
export interface WasteCaller {
  readonly ips: readonly WasteIp[];
  readonly bytes: number;
}

/** Findings, the costliest first, and what was left out of them because it is harmless as a rule. */
export interface WasteFindings {
  findings: WasteFinding[];
  folded: { what: string; bytes: number; sites: number }[];
}

/** What most findings have nothing to say of. */
export const PLAIN = {
  library: undefined,
  isUnnamed: false,
  places: 1,
  callers: [],
  part: 0,
  wasted: undefined,
  partner: undefined,
  isOwn: false,
  isInLoop: false,
  class: "plain",
  bytesEach: undefined,
  value: undefined,
  repeatsItself: false,
  clearsCleared: false,
  object: undefined,
  also: undefined,
} as const;

/** A place wastes if so much of what it does is in vain: what is in vain now and then is how programs work. */
export const MOST_SHARE = 0.8;

/** The facts of a store that findings of all kinds share. */
export function storeShape(
  store: WasteStore,
  index: number,
  partners: Partners,
): Omit<WasteFinding, "kind" | "bytes" | "share"> {
  const each = store.bytes_written / store.nof_stores;
  return {
    ...PLAIN,
    ips: store.ips,
    operations: store.nof_stores,
    class: store.class,
    bytesEach: Number.isInteger(each) ? each : undefined,
    isInLoop: (store.nof_again ?? 0) >= MOST_SHARE * store.nof_stores,
    repeatsItself: partners.of("silent", index).isOwn && store.nof_silent >= MOST_SHARE * store.nof_stores,
  };
}

/** Whether a site is a local variable that lives in memory, as far as only its function has to do with it. */
export function isSpill(site: WasteStore | WasteLoad, other: Partner | undefined): boolean {
  return site.frame === true && (other === undefined || isSameFunction(site.ips, other.ips));
}
