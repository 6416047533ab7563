import { UserError } from "../../ground/bytes/errors.ts";
import {
  type Check,
  count,
  flag,
  integer,
  list,
  misfit,
  number,
  oneOf,
  optional,
  parseVersioned,
  record,
  text,
} from "./check.ts";
import { type NamedModule, namedModule } from "./named-module.ts";

/**
 * What the waste tool writes, `waste.json`, version 1: the file of the Valgrind tool deadstores with more members.
 * Counts and byte amounts are JSON numbers. docs/formats.md describes every member.
 */
export const WASTE_SCHEMA = "memshade-waste";
export const WASTE_VERSION = 1;

export interface WasteFile {
  schema: typeof WASTE_SCHEMA;
  version: typeof WASTE_VERSION;
  /** The profiled command, as a shell takes it. */
  command: string;
  /** The modules that were followed. */
  modules?: NamedModule[] | undefined;
  /** The others that the run had, and why, as a sentence. */
  notRecorded?: { module: number; name: string; reason: string }[] | undefined;
  options: WasteFileOptions;
  totals: WasteTotals;
  stores: WasteStore[];
  loads: WasteLoad[];
  /** Only with `--pairs`: which access undid, repeated or re-read which. */
  pairs?: WastePair[] | undefined;
  /** Where blocks were freed and frames ended; `WastePair.end` is an index into it. */
  ends?: WasteEnd[] | undefined;
  /** Only with `--pairs`: places that reallocate, in the order of their code. */
  reallocations?: WasteReallocations[] | undefined;
  /** Only with `--objects`: what happened inside the blocks of each allocation site. */
  objects?: WasteObjects[] | undefined;
  /** What became of the blocks of each place that allocates; missing with `--pairs` alone. */
  blocks?: WasteBlocks[] | undefined;
  /** Sentences: what was not followed. */
  notTracked: string[];
}

export interface WasteFileOptions {
  /** "brief" is summary mode, which keeps one id per byte; "full" is precise mode, which keeps writers, readers and values. */
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  compat: string;
}

interface WasteTotals {
  bytesWritten: number;
  bytesRead: number;
  deadOverwritten: number;
  deadDeallocated: number;
  deadExit: number;
  hostAssumedRead: number;
  /** Those of them that nobody had read by the end, when the host could still look. */
  visibleAtExit?: number | undefined;
  stores: number;
  silentStores: number;
  loads: number;
  bytesLoaded: number;
  silentLoads: number;
}

/** Distance between two modules in the addresses of code locations. */
export const MODULE_SPAN = 2 ** 32;

/** A code location; `address` is module × 2^32 + offset in the code section, as in `heap.memprofraw`. */
export interface WasteIp {
  address: number;
  function?: string | undefined;
  /** Name of the module, where the function's name alone would not tell. */
  module?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  /** First line of the function, where that is known. */
  startLine?: number | undefined;
  /** Its function is one that hands on what it asks the allocator for. */
  layer?: boolean | undefined;
  /** What library its code is of, in words; undefined for the program's own, and where nobody asked. Never in the file. */
  library?: string | undefined;
  /** Its function is declared to give memory of no type in particular to whoever says how much. */
  handsOutMemory?: boolean | undefined;
  /** The line is that of the nearest earlier place in the function: this one has none. Never in the file. */
  approximate?: boolean | undefined;
  /** The functions that the place is inlined into, the innermost first, each with the place in it. */
  inlined?: WasteFrame[] | undefined;
}

export interface WasteFrame {
  function?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  /** As in `WasteIp`. */
  startLine?: number | undefined;
  /** As in `WasteIp`. */
  library?: string | undefined;
  handsOutMemory?: boolean | undefined;
  approximate?: boolean | undefined;
}

export type WasteClass = "plain" | "atomic" | "copy" | "fill" | "host" | "calloc";

export interface WasteStore {
  ips: WasteIp[];
  bytes_written: number;
  /** Those that the host is assumed to have read included. */
  bytes_read: number;
  nof_stores: number;
  nof_silent: number;
  /** Stores, at least, to the place that the same run of a loop had stored to before; missing where nobody knows. */
  nof_again?: number | undefined;
  bytes_dead: number;
  dead_overwritten: number;
  dead_deallocated: number;
  dead_exit: number;
  bytes_silent: number;
  host_assumed_read: number;
  /** Those of them that nobody had read by the end, when the host could still look. */
  visible_at_exit?: number | undefined;
  /** Bytes equal to the valid byte they overwrote, in any store. Only with `--pairs` and the like. */
  bytes_same?: number | undefined;
  silent_over_zero?: number | undefined;
  silent_approximate?: number | undefined;
  /** Floats in vectors that were exactly or nearly there already, where the vector is known to hold floats. */
  lanes_redundant?: number | undefined;
  /** Bytes of data segments that had been as the module brought them along. */
  bytes_over_segments?: number | undefined;
  class: WasteClass;
  /** It accesses its function's own frame, at a constant place: a local variable that lives in memory. */
  frame?: boolean | undefined;
  /** It stores where its basic block has loaded from before. */
  update?: boolean | undefined;
  /** Runs of the loop around it that did not end, because of a trap for instance: what it did in them is not counted. */
  incomplete?: number | undefined;
}

export interface WasteLoad {
  ips: WasteIp[];
  nof_loads: number;
  nof_silent: number;
  bytes_loaded: number;
  /** Loads, at least, of the place that the same run of a loop had loaded before; missing where nobody knows. */
  nof_again?: number | undefined;
  nof_redundant?: number | undefined;
  bytes_redundant?: number | undefined;
  nof_approximate?: number | undefined;
  bytes_zero?: number | undefined;
  /** The commonest values of its redundant loads, at most three. */
  values?: WasteValue[] | undefined;
  class: WasteClass;
  /** It accesses its function's own frame, at a constant place: a local variable that lives in memory. */
  frame?: boolean | undefined;
  /** Runs of the loop around it that did not end, because of a trap for instance: what it did in them is not counted. */
  incomplete?: number | undefined;
}

export interface WasteValue {
  /** Signed decimal (unsigned where the load is), a float, or hexadecimal of a vector. */
  value: string;
  /** Redundant loads that found it; at least so many unless `exact`. */
  loads: number;
  exact: boolean;
}

export type PairKind = "overwritten" | "deallocated" | "returned" | "exit" | "silent" | "redundant";

/** `first` and `second` are indices into `stores`, of a redundant pair into `loads`; absent: nobody, or a pseudo-writer. */
export interface WastePair {
  kind: PairKind;
  first?: number | undefined;
  /** What wrote first where it was no store of the program. */
  origin?: "init" | "zero" | undefined;
  second?: number | undefined;
  /** Of bytes that died with their block or frame: index into `ends`; absent: nobody knows. */
  end?: number | undefined;
  bytes: number;
  /** Operations of the second of the two that met bytes of the first. */
  operations: number;
}

/** A place that frees blocks, hands memory out again or gives up a frame, innermost call first. */
export interface WasteEnd {
  ips: WasteIp[];
}

/** What reallocations of one place cost. */
export interface WasteReallocations {
  ips: WasteIp[];
  calls: number;
  /** Bytes that blocks grew by. */
  grown: number;
  /** How often the block got a new place, and bytes that were copied there. */
  moves: number;
  moved: number;
}

export interface WasteObjects {
  /** The call of the allocator. */
  ips: WasteIp[];
  objects: number;
  bytes: number;
  /** Bytes alive at the same time, at most. */
  peak?: number | undefined;
  /** Largest size; `varies` if not all blocks had it. */
  size: number;
  varies: boolean;
  bytesDead: number;
  /** What the blocks hold, if debug information shows it. */
  type?: WasteType | undefined;
  /** Mean lifetime of the blocks, accesses. */
  meanLifetime?: number | undefined;
  /** Mean over blocks of the time between first and last access, as a part of the lifetime. */
  usefulLifetime?: number | undefined;
  /** Bytes touched in blocks that are both read and written, as a part of all bytes; and from the first to the last. */
  usage?: number | undefined;
  usageSpan?: number | undefined;
  /** Bytes read and written in the blocks, by all accesses, per byte allocated. */
  ratioRead?: number | undefined;
  ratioWritten?: number | undefined;
  /** Offsets below 4096 that are written and never read; neither; read and never written. */
  writeOnlyBytes?: number | undefined;
  holeBytes?: number | undefined;
  readUnwrittenBytes?: number | undefined;
  /** Whose stores the dead bytes are, most bytes first, at most a hundred: indices into `stores`. */
  deadBy?: { store: number; bytes: number }[] | undefined;
  /** Whose stores to the blocks, and whose loads from them, have most bytes, at most a hundred of each. */
  writtenBy?: { store: number; bytes: number }[] | undefined;
  readBy?: { load: number; bytes: number }[] | undefined;
  /** Members of the type, folded over its elements; without one, runs of offsets with equal counts. */
  fields: WasteField[];
  /** Bytes of each block, from offset 4096 on, that `fields` does not tell apart: its last entry has them. */
  tail?: boolean | undefined;
}

/** The blocks of one place that allocates, and what nobody reads of them. */
export interface WasteBlocks {
  /** The calls that asked for them, innermost first. */
  ips: WasteIp[];
  blocks: number;
  bytes: number;
  /** Largest size; `varies` if not all blocks had it. */
  size: number;
  varies: boolean;
  /** Blocks that were stored to and never read, and their bytes. */
  unread_blocks: number;
  unread_bytes: number;
  /** Bytes that were stored to and never read, of all blocks. */
  never_read: number;
  /** What the blocks hold, if debug information shows it. */
  type?: WasteType | undefined;
  /** Bytes of what they hold one of, or many one behind the other: of the type, of a period in what was read, or of the block. */
  element?: number | undefined;
  /** Parts of it that nobody read in any block. Missing where nothing can be said of single parts. */
  fields?: WasteUnreadField[] | undefined;
  /** So many bytes of each block, from its beginning, were followed for them. Missing: all. */
  followed?: number | undefined;
}

/** A part of each element that nobody reads. */
export interface WasteUnreadField {
  offset: number;
  size: number;
  /** Somebody stores to it. */
  written: boolean;
  /** Name and type of the member; absent where the type is not known. */
  name?: string | undefined;
  type?: string | undefined;
}

/** How the type of a site's blocks was found; see docs/tools/waste.md. */
const TYPE_RULES = ["constructor", "container", "variable", "result", "member", "pointer", "size"] as const;
type TypeRule = (typeof TYPE_RULES)[number];

/** So many alike are records of a program; the parts of one are its matter, or a buffer's. */
export const FEWEST_RECORDS = 16;

/** Rules of which a type is probable only. */
export const LIKELY_RULES: ReadonlySet<TypeRule> = new Set(["pointer", "size"]);

export interface WasteType {
  name: string;
  size: number;
  by: TypeRule;
}

export interface WasteField {
  offset: number;
  size: number;
  /** Byte accesses, all offsets of the field together. */
  reads: number;
  writes: number;
  /** Dead bytes, and their parts: overwritten, gone with their block, unread at the end. */
  dead: number;
  overwritten?: number | undefined;
  deallocated?: number | undefined;
  exit?: number | undefined;
  silent: number;
  /** Accesses to the field: of its bytes, the one with most. */
  accesses?: number | undefined;
  /** Name and type of the member; absent for padding and where the type is not known. */
  name?: string | undefined;
  type?: string | undefined;
}

/** All code locations of a file. */
export function placesOf(file: WasteFile): WasteIp[] {
  const sites = [
    ...file.stores,
    ...file.loads,
    ...(file.reallocations ?? []),
    ...(file.objects ?? []),
    ...(file.blocks ?? []),
    ...(file.ends ?? []),
  ];
  return sites.flatMap(({ ips }) => ips);
}

const frame = record<Omit<WasteFrame, "library" | "approximate">>({
  function: optional(text),
  file: optional(text),
  line: optional(integer),
  handsOutMemory: optional(flag),
  startLine: optional(integer),
});
const ip = record<Omit<WasteIp, "library" | "approximate">>({
  address: count,
  function: optional(text),
  module: optional(text),
  file: optional(text),
  line: optional(integer),
  startLine: optional(integer),
  layer: optional(flag),
  handsOutMemory: optional(flag),
  inlined: optional(list(frame)),
});
const siteClass = oneOf("plain", "atomic", "copy", "fill", "host", "calloc");

const someIps: Check<WasteIp[]> = (value) => {
  const ips = list(ip)(value);
  if (ips.length > 0) return ips;
  return misfit("should have at least one place, but is empty");
};

const store = record<WasteStore>({
  ips: someIps,
  bytes_written: count,
  bytes_read: count,
  nof_stores: count,
  nof_silent: count,
  nof_again: optional(count),
  bytes_dead: integer,
  dead_overwritten: integer,
  dead_deallocated: count,
  dead_exit: count,
  bytes_silent: count,
  host_assumed_read: count,
  visible_at_exit: optional(count),
  bytes_same: optional(count),
  silent_over_zero: optional(count),
  silent_approximate: optional(count),
  lanes_redundant: optional(count),
  bytes_over_segments: optional(count),
  class: siteClass,
  frame: optional(flag),
  update: optional(flag),
  incomplete: optional(count),
});

const load = record<WasteLoad>({
  ips: someIps,
  nof_loads: count,
  nof_silent: integer,
  bytes_loaded: count,
  nof_again: optional(count),
  nof_redundant: optional(count),
  bytes_redundant: optional(count),
  nof_approximate: optional(count),
  bytes_zero: optional(count),
  values: optional(list(record<WasteValue>({ value: text, loads: count, exact: flag }))),
  class: siteClass,
  frame: optional(flag),
  incomplete: optional(count),
});

const pair = record<WastePair>({
  kind: oneOf("overwritten", "deallocated", "returned", "exit", "silent", "redundant"),
  first: optional(count),
  origin: optional(oneOf("init", "zero")),
  second: optional(count),
  end: optional(count),
  bytes: count,
  operations: count,
});

const type = record<WasteType>({ name: text, size: count, by: oneOf(...TYPE_RULES) });

const objects = record<WasteObjects>({
  ips: someIps,
  objects: count,
  bytes: count,
  peak: optional(count),
  size: count,
  varies: flag,
  bytesDead: count,
  type: optional(type),
  meanLifetime: optional(number),
  usefulLifetime: optional(number),
  usage: optional(number),
  usageSpan: optional(number),
  ratioRead: optional(number),
  ratioWritten: optional(number),
  writeOnlyBytes: optional(count),
  holeBytes: optional(count),
  readUnwrittenBytes: optional(count),
  deadBy: optional(list(record<{ store: number; bytes: number }>({ store: count, bytes: count }))),
  writtenBy: optional(list(record<{ store: number; bytes: number }>({ store: count, bytes: count }))),
  readBy: optional(list(record<{ load: number; bytes: number }>({ load: count, bytes: count }))),
  tail: optional(flag),
  fields: list(
    record<WasteField>({
      offset: count,
      size: count,
      reads: count,
      writes: count,
      dead: count,
      overwritten: optional(count),
      deallocated: optional(count),
      exit: optional(count),
      silent: count,
      accesses: optional(count),
      name: optional(text),
      type: optional(text),
    }),
  ),
});

const blocks = record<WasteBlocks>({
  ips: someIps,
  blocks: count,
  bytes: count,
  size: count,
  varies: flag,
  unread_blocks: count,
  unread_bytes: count,
  never_read: count,
  type: optional(type),
  element: optional(count),
  fields: optional(
    list(
      record<WasteUnreadField>({
        offset: count,
        size: count,
        written: flag,
        name: optional(text),
        type: optional(text),
      }),
    ),
  ),
  followed: optional(count),
});

const file = record<WasteFile>({
  schema: oneOf(WASTE_SCHEMA),
  version: oneOf(WASTE_VERSION),
  command: text,
  modules: optional(list(namedModule)),
  notRecorded: optional(list(record({ module: count, name: text, reason: text }))),
  options: record<WasteFileOptions>({
    engine: oneOf("brief", "full"),
    contexts: flag,
    objects: flag,
    compat: text,
  }),
  totals: record<WasteTotals>({
    bytesWritten: count,
    bytesRead: count,
    deadOverwritten: integer,
    deadDeallocated: count,
    deadExit: count,
    hostAssumedRead: count,
    visibleAtExit: optional(count),
    stores: count,
    silentStores: count,
    loads: count,
    bytesLoaded: count,
    silentLoads: integer,
  }),
  stores: list(store),
  loads: list(load),
  pairs: optional(list(pair)),
  ends: optional(list(record<WasteEnd>({ ips: someIps }))),
  reallocations: optional(
    list(
      record<WasteReallocations>({ ips: someIps, calls: count, grown: count, moves: count, moved: count }),
    ),
  ),
  objects: optional(list(objects)),
  blocks: optional(list(blocks)),
  notTracked: list(text),
});

/**
 * The text of a `waste.json`.
 *
 * @throws UserError saying what is wrong in one line, without the file's name
 */
export function readWaste(json: string): WasteFile {
  const found = file(parseVersioned(json, WASTE_SCHEMA, WASTE_VERSION, "is not the waste of a run"));
  for (const { kind, first, second, end } of found.pairs ?? []) {
    const limit = kind === "redundant" ? found.loads.length : found.stores.length;
    if ((first ?? 0) >= limit || (second ?? 0) >= limit || (end ?? -1) >= (found.ends?.length ?? 0))
      throw new UserError("pairs name sites that are not there");
  }
  for (const { deadBy = [], writtenBy = [], readBy = [] } of found.objects ?? [])
    if (
      [...deadBy, ...writtenBy].some(({ store }) => store >= found.stores.length) ||
      readBy.some(({ load }) => load >= found.loads.length)
    )
      throw new UserError("blocks name sites that are not there");
  return found;
}
