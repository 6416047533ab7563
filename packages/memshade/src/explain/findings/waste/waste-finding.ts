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

/** Function that overwrote a location's bytes, repeated its store, or loaded before it. */
export interface Partner {
  /** Heaviest location of the function. */
  ips: readonly WasteIp[];
  /** Bytes of all its locations, and their number. */
  bytes: number;
  places: number;
}

type Kind = "overwritten" | "silent" | "redundant";

/** Partners of code locations: of dead stores, silent stores, and repeated loads. */
export class Partners {
  /** Partners by function, per kind and location, with the bytes of their heaviest location. */
  readonly #found = new Map<string, Map<string, Partner & { most: number; isOwn: boolean }>>();

  constructor(file: WasteFile) {
    for (const { kind, first, second, bytes } of file.pairs ?? []) {
      if (kind !== "overwritten" && kind !== "silent" && kind !== "redundant") continue;
      const [site, partnerSite] = kind === "overwritten" ? [first, second] : [second, first];
      if (site === undefined || partnerSite === undefined) continue;
      const ips = file[kind === "redundant" ? "loads" : "stores"][partnerSite]?.ips ?? [];
      const key = `${kind} ${site}`;
      const groups = this.#found.get(key) ?? new Map<string, Partner & { most: number; isOwn: boolean }>();
      this.#found.set(key, groups);
      const isOwn = partnerSite === site;
      const group = isOwn ? "" : (functionOf(ips) ?? `at ${partnerSite}`);
      const partner = groups.get(group);
      groups.set(group, {
        ips: partner === undefined || bytes > partner.most ? ips : partner.ips,
        bytes: (partner?.bytes ?? 0) + bytes,
        places: (partner?.places ?? 0) + 1,
        most: Math.max(partner?.most ?? 0, bytes),
        isOwn,
      });
    }
  }

  /** Returns the function with most bytes; `isOwn`: true for the location itself. */
  of(kind: Kind, site: number): { partner: Partner | undefined; isOwn: boolean } {
    let heaviest: (Partner & { isOwn: boolean }) | undefined;
    for (const group of this.#found.get(`${kind} ${site}`)?.values() ?? [])
      if (heaviest === undefined || group.bytes > heaviest.bytes) heaviest = group;
    if (heaviest === undefined) return { partner: undefined, isOwn: false };
    const { ips, bytes, places, isOwn } = heaviest;
    return { partner: { ips, bytes, places }, isOwn };
  }
}

/** Returns the program's own function around a location, else the library's. */
export function functionOf([ip]: readonly WasteIp[]): string | undefined {
  return ip && (ownFrame<WasteFrame>(ip)?.function ?? ip.function);
}

/** True if two locations are in one function, inlined or not. */
export function isSameFunction(a: readonly WasteIp[], b: readonly WasteIp[]): boolean {
  const name = functionOf(a);
  return name !== undefined && name === functionOf(b);
}

/** A code location that wastes memory operations, with the cost. */
export interface WasteFinding {
  /** Glossary word. */
  kind: string;
  /** Location, then its callers. */
  ips: readonly WasteIp[];
  /**
   * Library of the code; undefined for the program's own code, and for requests of the program to a library.
   */
  library: string | undefined;
  /** True if the code has neither a name nor a line. */
  isUnnamed: boolean;
  /** Number of locations of one function, if no lines distinguish them; else 1. */
  places: number;
  /** Callers, most bytes first, if known and more than one. */
  callers: readonly WasteCaller[];
  /** Wasted bytes: dead, silently stored, loaded again, never read, or copied by realloc. */
  bytes: number;
  /**
   * Saving if the finding is fixed, as a part (0…1) of all bytes that the program moves; for cold members, of
   * the allocated bytes.
   */
  part: number;
  /** Stores, loads, blocks or reallocations of the location; `wasted` is undefined if unknown. */
  operations: number;
  wasted: number | undefined;
  /** `bytes` as a part of the location's bytes, 0…1. */
  share: number;
  /** Function that overwrote or repeated it, or loaded before. */
  partner: Partner | undefined;
  /** True if the partner is always the location itself. */
  isOwn: boolean;
  /** True if nearly all of its stores hit the address of the previous store in the same loop. */
  isInLoop: boolean;
  /** Kind of access. */
  class: string;
  /** Bytes per store, if constant. */
  bytesEach: number | undefined;
  /** Value that most repeated loads find, if there is one. */
  value: WasteValue | undefined;
  /** True if nearly all of its stores write the value that the location itself stored there before. */
  repeatsItself: boolean;
  /** True for stores of zeros to memory that the system had zeroed and that was not stored to since. */
  clearsCleared: boolean;
  /** Set for findings on blocks and their members. */
  object: { site: WasteBlocks; fields: readonly WasteUnreadField[] } | undefined;
  /** Further finding on other waste at the same location. */
  also: WasteFinding | undefined;
}

/** A caller of a location, with its own callers, and the bytes wasted for it. */
export interface WasteCaller {
  /** Caller, then its callers. */
  readonly ips: readonly WasteIp[];
  /** Bytes wasted for it. */
  readonly bytes: number;
}

/** Findings, the costliest first, and the usually harmless waste left out of them. */
export interface WasteFindings {
  findings: WasteFinding[];
  folded: { what: string; bytes: number; sites: number }[];
}

/** Defaults of the facts that most findings lack. */
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

/** Least wasted part of a location's work: occasional waste is normal in any program. */
export const MOST_SHARE = 0.8;

/** Returns the facts of a store that findings of all kinds share. */
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

/** True for a local variable in memory that only its own function accesses. */
export function isSpill(site: WasteStore | WasteLoad, partner: Partner | undefined): boolean {
  return site.frame === true && (partner === undefined || isSameFunction(site.ips, partner.ips));
}
