import type {
  WasteBlocks,
  WasteFrame,
  WasteIp,
  WasteUnreadField,
  WasteValue,
} from "../../model/waste/waste.ts";
import type { Partner } from "./partners.ts";

/**
 * What kind of waste a finding is about: stores overwritten unread, zeros of calloc overwritten unread, stores of what is there, loads
 * of what was loaded just before, blocks that nobody reads, members that somebody stores to and nobody reads, members that nobody
 * touches, and blocks that are copied again and again.
 */
export type WasteFindingKind =
  | "dead"
  | "clear"
  | "silent"
  | "redundant"
  | "never-read"
  | "write-only"
  | "cold"
  | "moved";

/** One place that wastes memory operations, with what it costs. */
export interface WasteFinding {
  kind: WasteFindingKind;
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

/** The engine's word for a function without a name. */
const NUMBERED = /^func\[\d+\]$/;

export function isNamed({ function: name, file }: WasteFrame): boolean {
  return file !== undefined || (name !== undefined && !NUMBERED.test(name));
}
