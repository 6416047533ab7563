import type {
  WasteField,
  WasteFile,
  WasteFrame,
  WasteIp,
  WasteLoad,
  WasteObjects,
  WasteReallocations,
  WasteStore,
  WasteValue,
} from "../../model/waste/waste.ts";
import { ownDepth } from "../frames/own-place.ts";
import { functionOf, isSameFunction, type Partner, Partners } from "./partners.ts";

/** What kind of waste a finding is about. */
export type FindingKind = "dead" | "silent" | "redundant" | "write-only" | "moved";

/** One place that wastes memory operations, with what it costs. */
export interface WasteFinding {
  kind: FindingKind;
  ips: readonly WasteIp[];
  /** Places of one function that the finding is about, where no lines tell them apart; else 1. */
  places: number;
  /** Wasted bytes: dead, silently stored again, loaded again, or copied to where there was more room. */
  bytes: number;
  /** Stores, loads or reallocations of the site, and how many of them are wasted where that is known. */
  operations: number;
  wasted: number | undefined;
  /** `bytes` as a part of the site's bytes, 0…1. */
  share: number;
  /** Who undid it, repeated by whom, or who loaded before. */
  partner: Partner | undefined;
  /** The same place every time: the site kills or repeats itself. */
  isOwn: boolean;
  class: string;
  /** Bytes of each store, where they are always as many. */
  bytesEach: number | undefined;
  /** Of loads that repeat: the value that most of them find, if one does. */
  value: WasteValue | undefined;
  /** Nearly all of its stores write what the site itself has stored there. */
  repeatsItself: boolean;
  /** It stores zeros where the system had put some, and nobody had stored since. */
  clearsCleared: boolean;
  /** Of write-only fields: these, and the blocks they are in. */
  object: { site: WasteObjects; fields: readonly WasteField[] } | undefined;
}

/** Findings, the costliest first, and what was left out of them because it is harmless as a rule. */
export interface WasteFindings {
  findings: WasteFinding[];
  folded: { what: string; bytes: number; sites: number }[];
}

/** What most findings have nothing to say of. */
const PLAIN = {
  places: 1,
  wasted: undefined,
  partner: undefined,
  isOwn: false,
  class: "plain",
  bytesEach: undefined,
  value: undefined,
  repeatsItself: false,
  clearsCleared: false,
  object: undefined,
} as const;

const SPILLS = "local variables in memory, overwritten where they are";
const SILENT_SPILLS = "local variables in memory, stored again as they are";
const LOADED_SPILLS = "local variables in memory, loaded again";

/** Parts of all dead bytes, of all silent stores or of all loads below which a site is not worth a sentence. */
const LEAST_PART = 0.001;

/** Part of a site's own stores or loads below which what changes nothing is not worth a test or a variable. */
const LEAST_SHARE = 0.1;

/** Part of a site's stores from which on it stores the same every time. */
const MOST_SHARE = 0.8;

/**
 * The findings of a run: stores overwritten before they are read, stores that change nothing, loads that repeat, and
 * with objects the fields that nobody reads.
 */
export function wasteFindings(file: WasteFile): WasteFindings {
  const { totals } = file;
  const findings: WasteFinding[] = [];
  const folds = new Map<string, { what: string; bytes: number; sites: number }>();
  const fold = (what: string, bytes: number): void => {
    const known = folds.get(what) ?? { what, bytes: 0, sites: 0 };
    folds.set(what, { what, bytes: known.bytes + bytes, sites: known.sites + 1 });
  };
  const partners = new Partners(file);
  const isSpill = (site: WasteStore | WasteLoad, other: WasteFinding["partner"]): boolean =>
    site.frame === true && (other === undefined || isSameFunction(site.ips, other.ips));

  file.stores.forEach((store, index) => {
    const each = store.bytes_written / store.nof_stores;
    const overwritten = partners.of("overwritten", index);
    const repeated = partners.of("silent", index);
    const shape = {
      ...PLAIN,
      ips: store.ips,
      operations: store.nof_stores,
      class: store.class,
      bytesEach: Number.isInteger(each) ? each : undefined,
      repeatsItself: repeated.isOwn && store.nof_silent >= MOST_SHARE * store.nof_stores,
    };
    if (store.dead_deallocated > 0)
      fold("bytes unread when their block or frame ended", store.dead_deallocated);
    if (store.dead_exit > 0) fold("bytes unread at the end of the run", store.dead_exit);
    const dead = store.dead_overwritten;
    if (dead > 0) {
      if (store.class === "calloc") fold("zeros of calloc that the program overwrites", dead);
      else if (store.class === "atomic") fold("atomic variables", dead);
      else if (store.class === "host") fold("results of host calls that nobody looks at", dead);
      else if (isSpill(store, overwritten.partner)) fold(SPILLS, dead);
      else {
        findings.push({
          ...shape,
          kind: "dead",
          bytes: dead,
          wasted: undefined,
          share: dead / store.bytes_written,
          ...overwritten,
        });
      }
    }
    if (store.nof_silent > 0 && isSpill(store, repeated.partner)) fold(SILENT_SPILLS, store.bytes_silent);
    else if (
      store.nof_silent > 0 &&
      store.nof_silent >= LEAST_SHARE * store.nof_stores &&
      store.class !== "atomic"
    ) {
      findings.push({
        ...shape,
        kind: "silent",
        bytes: store.bytes_silent,
        wasted: store.nof_silent,
        share: store.nof_silent / store.nof_stores,
        ...repeated,
        clearsCleared: (store.silent_over_zero ?? 0) * 2 > store.nof_stores,
      });
    }
  });
  file.loads.forEach((load, index) => {
    const wasted = load.nof_redundant ?? load.nof_silent;
    if (wasted === 0 || load.class === "atomic") return;
    if (wasted < LEAST_SHARE * load.nof_loads) return;
    const before = partners.of("redundant", index);
    const bytes = Math.round((load.bytes_loaded * wasted) / load.nof_loads);
    if (isSpill(load, before.partner)) {
      fold(LOADED_SPILLS, bytes);
      return;
    }
    findings.push({
      ...PLAIN,
      kind: "redundant",
      ips: load.ips,
      bytes,
      operations: load.nof_loads,
      wasted,
      share: wasted / load.nof_loads,
      class: load.class,
      value: (load.values ?? []).find((value) => value.loads * 2 >= wasted),
      ...before,
    });
  });
  for (const site of file.reallocations ?? []) findings.push(...movedBlocks(site));
  for (const site of file.objects ?? []) {
    findings.push(...writeOnlyFields(site));
    const padding = site.type === undefined ? 0 : deadPadding(site);
    if (padding > 0) fold("padding between members of structs", padding);
  }
  const merged = mergePlaces(findings.sort((a, b) => weight(b) - weight(a))).filter((finding) =>
    isWorthASentence(finding, totals),
  );
  merged.sort((a, b) => weight(b) - weight(a));
  return { findings: merged, folded: [...folds.values()].sort((a, b) => b.bytes - a.bytes) };
}

/** A load in vain costs less than a store: engines and caches hide most of it. */
const LOAD_WEIGHT = 0.25;

/** Whether it is a part of the run's waste that matters. */
function isWorthASentence({ kind, bytes, wasted = 0 }: WasteFinding, totals: WasteFile["totals"]): boolean {
  if (kind === "dead" || kind === "moved") return bytes >= LEAST_PART * totals.bytesWritten;
  if (kind === "silent") return wasted >= LEAST_PART * totals.stores;
  return kind === "write-only" || wasted >= LEAST_PART * 10 * totals.loads;
}

function weight({ kind, bytes }: WasteFinding): number {
  return kind === "redundant" ? bytes * LOAD_WEIGHT : bytes;
}

/** Whoever makes blocks larger by a half at a time copies some two bytes for each that they grow by. */
const USUAL_COPIES = 4;

/** A place that makes blocks larger in small steps, so that they are copied again and again. */
function movedBlocks({ ips, calls, grown, moves, moved }: WasteReallocations): WasteFinding[] {
  if (moves < 2 || moved <= USUAL_COPIES * grown) return [];
  return [
    {
      ...PLAIN,
      kind: "moved",
      ips,
      bytes: moved,
      operations: calls,
      wasted: moves,
      share: moves / calls,
    },
  ];
}

/** The fields of a site that are written and never read, all together. */
function writeOnlyFields(site: WasteObjects): WasteFinding[] {
  // What lies behind the offsets that are told apart may be read.
  if (site.objects < 2 || site.tail || (site.varies && site.type === undefined)) return [];
  const fields = site.fields.filter(
    ({ reads, writes, name }) => reads === 0 && writes > 0 && (site.type === undefined || name !== undefined),
  );
  if (fields.length === 0) return [];
  const sum = (figure: (field: WasteField) => number) =>
    fields.reduce((total, field) => total + figure(field), 0);
  return [
    {
      ...PLAIN,
      kind: "write-only",
      ips: site.ips,
      bytes: sum(({ writes }) => writes),
      operations: sum(({ accesses, writes, size }) => accesses ?? writes / size),
      share: 1,
      object: { site, fields },
    },
  ];
}

/**
 * Findings of one kind on one line of source, as one: an expression often has several accesses. Where no lines are known,
 * those of one function that the same one undid or repeated.
 */
function mergePlaces(findings: readonly WasteFinding[]): WasteFinding[] {
  const byPlace = new Map<string, WasteFinding>();
  for (const finding of findings) {
    const key = placeKey(finding) ?? `${byPlace.size}`;
    const known = byPlace.get(key);
    byPlace.set(key, known === undefined ? finding : addFinding(known, finding));
  }
  return [...byPlace.values()];
}

/** What findings have in common that are one; undefined for those that stand alone. */
function placeKey({ kind, class: group, ips, partner, isOwn, object }: WasteFinding): string | undefined {
  const [ip, ...callers] = ips;
  if (ip === undefined) return undefined;
  const path = callers.map((caller) =>
    caller.file === undefined ? caller.address : [...lineOf(caller), caller.inlined],
  );
  if (ip.file !== undefined)
    return JSON.stringify([kind, group, ownLines(ip), path, object && blocksKey(object)]);
  if (ip.function === undefined || object !== undefined) return undefined;
  const other = isOwn || partner === undefined ? isOwn : (functionOf(partner.ips) ?? partner.ips[0]?.address);
  return JSON.stringify([kind, group, ip.function, ip.module, path, other]);
}

function lineOf({ function: name, file, line }: WasteFrame): unknown[] {
  return [name, file, line];
}

/** What blocks have in common whose write-only fields are one finding. */
function blocksKey({ site, fields }: NonNullable<WasteFinding["object"]>): unknown[] {
  return [site.type, site.size, site.varies, fields.map(({ name, offset, size }) => [name, offset, size])];
}

/**
 * The lines of what a place is inlined into, as far as the program's own code: copies of an inlined function are one place, those
 * of a library's function are told apart by who calls it.
 */
function ownLines(ip: WasteIp): unknown[] {
  const frames = [ip, ...(ip.inlined ?? [])];
  const own = ownDepth(frames.map(({ library }) => library));
  return (own < 0 ? frames : frames.slice(0, own + 1)).map(lineOf);
}

function addFinding(a: WasteFinding, b: WasteFinding): WasteFinding {
  const samePartner =
    a.partner !== undefined &&
    b.partner !== undefined &&
    a.isOwn === b.isOwn &&
    isSameFunction(a.partner.ips, b.partner.ips);
  const [more, less] = a.bytes >= b.bytes ? [a, b] : [b, a];
  const heaviest = more.partner === undefined ? less : more;
  const isCounted = a.wasted !== undefined && b.wasted !== undefined;
  const operations = a.operations + b.operations;
  const whole = a.bytes / a.share + b.bytes / b.share;
  return {
    ...more,
    places: more.ips[0]?.file === undefined ? a.places + b.places : 1,
    bytes: a.bytes + b.bytes,
    operations,
    wasted: isCounted ? a.wasted! + b.wasted! : undefined,
    share: isCounted ? (a.wasted! + b.wasted!) / operations : (a.bytes + b.bytes) / whole,
    partner:
      heaviest.partner && samePartner
        ? {
            ips: heaviest.partner.ips,
            bytes: a.partner!.bytes + b.partner!.bytes,
            places: Math.max(a.partner!.places, b.partner!.places),
          }
        : heaviest.partner,
    isOwn: heaviest.isOwn,
    bytesEach: a.bytesEach === b.bytesEach ? a.bytesEach : undefined,
    value:
      a.value === undefined || a.value.value !== b.value?.value
        ? undefined
        : { ...a.value, loads: a.value.loads + b.value.loads, exact: a.value.exact && b.value.exact },
    repeatsItself: a.repeatsItself && b.repeatsItself,
    clearsCleared: a.clearsCleared && b.clearsCleared,
    object: more.object &&
      less.object && {
        ...more.object,
        site: { ...more.object.site, objects: more.object.site.objects + less.object.site.objects },
      },
  };
}

function deadPadding({ fields }: WasteObjects): number {
  return fields.reduce((sum, { name, dead }) => (name === undefined ? sum + dead : sum), 0);
}
