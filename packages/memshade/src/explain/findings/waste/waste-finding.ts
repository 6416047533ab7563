import type {
  WasteBlocks,
  WasteIp,
  WasteLoad,
  WasteStore,
  WasteUnreadField,
  WasteValue,
} from "../../../profile/model/waste/waste.ts";
import { isSameFunction, type Partner, type Partners } from "./partners.ts";

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
