import { UserError } from "../../ground/bytes/errors.ts";
import {
  type Check,
  count,
  each,
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
 * Output of the waste tool, `waste.json`, version 1: the file of the Valgrind tool deadstores with more members. Counts
 * and byte amounts are JSON numbers. docs/formats.md describes every member.
 */
export const WASTE_SCHEMA = "memshade-waste";
export const WASTE_VERSION = 1;

export interface WasteFile {
  /** Name and version of the format. */
  schema: typeof WASTE_SCHEMA;
  version: typeof WASTE_VERSION;
  /** Profiled program and its arguments, separated by spaces and quoted for a shell. */
  command: string;
  /** Followed modules. */
  modules?: NamedModule[] | undefined;
  /** Modules of the run that were not recorded, and the reason as a sentence. */
  notRecorded?: { module: number; name: string; reason: string }[] | undefined;
  /** Settings of the tool. */
  options: WasteFileOptions;
  /** Sums over all sites. */
  totals: WasteTotals;
  /** Executed stores, by address. */
  stores: WasteStore[];
  /** Executed loads, by address. */
  loads: WasteLoad[];
  /**
   * Only with `--pairs` or `--objects`: pairs of accesses of which one undid, repeated or re-read the other; most bytes
   * first.
   */
  pairs?: WastePair[] | undefined;
  /** Only with `--pairs` or `--objects`: code positions that free or reuse blocks, or end frames. */
  ends?: WasteEnd[] | undefined;
  /** Only with `--pairs` or `--objects`: code positions that reallocate, in the order of their code. */
  reallocations?: WasteReallocations[] | undefined;
  /**
   * Only with `--objects`: use of the blocks of each allocation site. Sites beyond the first 1,024 are combined. Their
   * `ips` are the allocator's call and at most 13 callers.
   */
  objects?: WasteObjects[] | undefined;
  /** Blocks of each allocation site, by call path; absent with `--pairs` alone. */
  blocks?: WasteBlocks[] | undefined;
  /** Sentences about facts that were not followed. */
  notTracked: string[];
}

export interface WasteFileOptions {
  /**
   * Mode of recording: "brief" is summary mode, which keeps one id per byte; "full" is precise mode, which keeps
   * writers, readers and values.
   */
  engine: "brief" | "full";
  /** True if sites were counted by calling context. */
  contexts: boolean;
  /** True if the use of blocks was recorded. */
  objects: boolean;
  /** Tool whose rules were followed (`--compat`). */
  compat: string;
}

interface WasteTotals {
  /** Bytes written by stores, and read of them. */
  bytesWritten: number;
  bytesRead: number;
  /** Dead bytes: overwritten, freed with their block, unread at the end. */
  deadOverwritten: number;
  deadDeallocated: number;
  deadExit: number;
  /** Bytes that the host is assumed to have read: unread when the host was in control. */
  hostAssumedRead: number;
  /** Part of these that was unread at the end, when the host could still read it. */
  visibleAtExit?: number | undefined;
  /** Stores, and silent ones among them. */
  stores: number;
  silentStores: number;
  /** Loads, their bytes, and silent loads among them. */
  loads: number;
  bytesLoaded: number;
  silentLoads: number;
}

/** Distance between two modules in the addresses of code positions. */
export const MODULE_SPAN = 2 ** 32;

/**
 * Code position. With `--contexts`, further `ips` are callers, innermost first; a recursion has the context of its first
 * call. Beyond the 65,536 busiest contexts of a list, sites have no callers.
 */
export interface WasteIp {
  /** Module × 2^32 + offset in the code section. */
  address: number;
  /** Name of the function. */
  function?: string | undefined;
  /** Name of the module, if the function's name alone is ambiguous. */
  module?: string | undefined;
  /** Source position, and the line on which the function begins. */
  file?: string | undefined;
  line?: number | undefined;
  startLine?: number | undefined;
  /** True if the function passes on memory that it requests from the allocator. */
  layer?: boolean | undefined;
  /**
   * Name of the code's library; undefined for the program's own code, and if libraries were not determined. Only in reports.
   */
  library?: string | undefined;
  /** True if the function is declared to return untyped memory of a requested size. */
  handsOutMemory?: boolean | undefined;
  /**
   * True if the line is that of the nearest earlier position in the function, because this one has none. Only in reports.
   */
  approximate?: boolean | undefined;
  /** Functions into which the position is inlined, innermost first, each with the position in it. */
  inlined?: WasteFrame[] | undefined;
}

export interface WasteFrame {
  /** Function, and the position in it. */
  function?: string | undefined;
  file?: string | undefined;
  line?: number | undefined;
  startLine?: number | undefined;
  /** As of a code position. */
  library?: string | undefined;
  handsOutMemory?: boolean | undefined;
  approximate?: boolean | undefined;
}

export type WasteClass = "plain" | "atomic" | "copy" | "fill" | "host" | "calloc";

export interface WasteStore {
  /** Code position, then its callers. */
  ips: WasteIp[];
  /** Written bytes. */
  bytes_written: number;
  /** Read bytes, including those that the host is assumed to have read. */
  bytes_read: number;
  /** Stores, and silent ones among them. */
  nof_stores: number;
  nof_silent: number;
  /** Lower bound of the stores to the location that the same run of a loop had stored to before; missing if unknown. */
  nof_again?: number | undefined;
  /**
   * Dead bytes, the sum of three parts: overwritten before a read, freed with their block, unread at the end.
   */
  bytes_dead: number;
  dead_overwritten: number;
  dead_deallocated: number;
  dead_exit: number;
  /** Bytes of silent stores. */
  bytes_silent: number;
  /** Part of `bytes_read` that was unread when the host was in control. */
  host_assumed_read: number;
  /** Part of these that was unread at the end, when the host could still read it. */
  visible_at_exit?: number | undefined;
  /** Bytes equal to the valid byte they overwrote, in any store. Only with `--pairs` and the like. */
  bytes_same?: number | undefined;
  /** Silent stores of zeros, and stores of floats that differ little from the value there. Only with `--pairs` and the like. */
  silent_over_zero?: number | undefined;
  silent_approximate?: number | undefined;
  /** Floats in vectors that were exactly or nearly there already, if the vector is known to hold floats. */
  lanes_redundant?: number | undefined;
  /** Bytes of data segments that still had their initial value. */
  bytes_over_segments?: number | undefined;
  /** Kind of access: `copy` and `fill` are bulk instructions, `host` an import that wrote. */
  class: WasteClass;
  /** True if it accesses its function's own frame at a constant offset: a local variable in memory. */
  frame?: boolean | undefined;
  /** True if its basic block has loaded from the same location before. */
  update?: boolean | undefined;
  /** Runs of the enclosing loop that did not end, because of a trap for instance; their accesses are not counted. */
  incomplete?: number | undefined;
}

export interface WasteLoad {
  /** Code position, then its callers. */
  ips: WasteIp[];
  /** Loads, and silent ones among them. */
  nof_loads: number;
  nof_silent: number;
  /** Loaded bytes. */
  bytes_loaded: number;
  /** Lower bound of the loads from the location that the same run of a loop had loaded before; missing if unknown. */
  nof_again?: number | undefined;
  /** Redundant loads, and their bytes. Only with `--pairs` and the like. */
  nof_redundant?: number | undefined;
  bytes_redundant?: number | undefined;
  /** Loads of floats that differ little from the value read before. Only with `--pairs` and the like. */
  nof_approximate?: number | undefined;
  /** Loaded bytes that were zero. Only with `--pairs` and the like. */
  bytes_zero?: number | undefined;
  /** Most common values of its redundant loads, at most three. */
  values?: WasteValue[] | undefined;
  /** Kind of access, as of a store. */
  class: WasteClass;
  /** True if it accesses its function's own frame at a constant offset: a local variable in memory. */
  frame?: boolean | undefined;
  /** Runs of the enclosing loop that did not end, because of a trap for instance; their accesses are not counted. */
  incomplete?: number | undefined;
}

export interface WasteValue {
  /** Signed decimal (unsigned if the load is unsigned), a float, or the hexadecimal form of a vector. */
  value: string;
  /** Redundant loads that found the value; a lower bound unless `exact`. */
  loads: number;
  exact: boolean;
}

export type PairKind = "overwritten" | "deallocated" | "returned" | "exit" | "silent" | "redundant";

/**
 * Pair of accesses. `first` and `second` are indices into `stores`, for a redundant pair into `loads`; absent if there
 * is no such access or it is a pseudo-writer.
 */
export interface WastePair {
  /** Relation of the two. */
  kind: PairKind;
  /** First access. */
  first?: number | undefined;
  /** Pseudo-writer of the bytes, if the first writer was no store of the program. */
  origin?: "init" | "zero" | undefined;
  /** Second access. */
  second?: number | undefined;
  /** Index into `ends`, for bytes that died with their block or frame; absent if unknown. */
  end?: number | undefined;
  /** Bytes of the pair. */
  bytes: number;
  /** Operations of `second` that accessed bytes of `first`. */
  operations: number;
}

/** Code position that frees blocks, reuses memory or ends a frame, innermost call first. */
export interface WasteEnd {
  /** Code position, then its callers. */
  ips: WasteIp[];
}

export interface WasteReallocations {
  /** Code position, then its callers. */
  ips: WasteIp[];
  /** Calls. */
  calls: number;
  /** Bytes by which the blocks grew. */
  grown: number;
  /** Number of moves to another address, and bytes copied by them. */
  moves: number;
  moved: number;
}

export interface WasteObjects {
  /** Call of the allocator, then its callers. */
  ips: WasteIp[];
  /** Blocks, and their bytes. */
  objects: number;
  bytes: number;
  /** Most bytes that were live at the same time. */
  peak?: number | undefined;
  /** Largest size; `varies` is true if the blocks have different sizes. */
  size: number;
  varies: boolean;
  /** Dead bytes in the blocks. */
  bytesDead: number;
  /** Type of the blocks' content, if debug information gives it. */
  type?: WasteType | undefined;
  /** Mean lifetime, in accesses. */
  meanLifetime?: number | undefined;
  /** Mean over blocks of the time between first and last access, as a part of the lifetime. */
  usefulLifetime?: number | undefined;
  /**
   * Bytes touched in blocks that are both read and written, as a part of all bytes; `usageSpan` counts from the first
   * to the last.
   */
  usage?: number | undefined;
  usageSpan?: number | undefined;
  /** Bytes read and written in the blocks, by all accesses, per byte allocated. */
  ratioRead?: number | undefined;
  ratioWritten?: number | undefined;
  /** Number of offsets below 4096 that are written and never read; neither; read and never written. */
  writeOnlyBytes?: number | undefined;
  holeBytes?: number | undefined;
  readUnwrittenBytes?: number | undefined;
  /** Stores (indices into `stores`) with most dead bytes, in descending order, at most a hundred. */
  deadBy?: { store: number; bytes: number }[] | undefined;
  /** Stores to the blocks and loads from them with most bytes, at most a hundred of each. */
  writtenBy?: { store: number; bytes: number }[] | undefined;
  readBy?: { load: number; bytes: number }[] | undefined;
  /** Members of the type, summed over its elements; without a type, runs of offsets with equal counts. */
  fields: WasteField[];
  /** True if the last entry of `fields` sums all bytes of each block from offset 4096 on. */
  tail?: boolean | undefined;
}

/** Blocks of one allocation site, and their unread parts. */
export interface WasteBlocks {
  /** Call of the allocator, then its callers. */
  ips: WasteIp[];
  /** Blocks, and their bytes. */
  blocks: number;
  bytes: number;
  /** Largest size; `varies` is true if the blocks have different sizes. */
  size: number;
  varies: boolean;
  /** Blocks that were stored to and never read, and their bytes. */
  unread_blocks: number;
  unread_bytes: number;
  /** Bytes that were stored to and never read, in pieces of 4, of all blocks. */
  never_read: number;
  /** Type of the blocks' content, if debug information gives it. */
  type?: WasteType | undefined;
  /** Size of an element of the blocks: of the type, of a period in the reads, or of the block. */
  element?: number | undefined;
  /** Bytes between the members of the type that another order of its members would save. Missing: none. */
  padding?: number | undefined;
  /** Parts of an element that were unread in all blocks. Missing if single parts cannot be judged. */
  fields?: WasteUnreadField[] | undefined;
  /** Bytes at the start of each block that were followed for `fields`. Missing: all. */
  followed?: number | undefined;
}

export interface WasteUnreadField {
  /** Offset and size in the element. */
  offset: number;
  size: number;
  /** True if something was stored there. */
  written: boolean;
  /** Name and type of the member; absent if the type is unknown. */
  name?: string | undefined;
  type?: string | undefined;
}

/** Evidence for the type of a site's blocks; see docs/tools/waste.md. */
const TYPE_RULES = ["constructor", "container", "variable", "result", "member", "pointer", "size"] as const;
type TypeRule = (typeof TYPE_RULES)[number];

/** Least number of equal elements that count as records. Parts of fewer elements may be a buffer's content. */
export const FEWEST_RECORDS = 16;

/** Rules whose result is only probable. */
export const LIKELY_RULES: ReadonlySet<TypeRule> = new Set(["pointer", "size"]);

export interface WasteType {
  /** Name of the type, and size of an element. */
  name: string;
  size: number;
  /** [Rule](tools/waste.md#blocks-and-their-members) that the type was found by. */
  by: TypeRule;
}

export interface WasteField {
  /** Offset and size in the element. */
  offset: number;
  size: number;
  /** Byte accesses, all offsets of the field together. */
  reads: number;
  writes: number;
  /** Dead bytes, and their parts: overwritten, freed with their block, unread at the end. */
  dead: number;
  overwritten?: number | undefined;
  deallocated?: number | undefined;
  exit?: number | undefined;
  /** Bytes of silent stores. */
  silent: number;
  /** Accesses to the field, counted at its most accessed byte. */
  accesses?: number | undefined;
  /** Name and type of the member; absent for padding and if the type is unknown. */
  name?: string | undefined;
  type?: string | undefined;
}

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
  ...each(optional(text), "function", "module", "file"),
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
  ...each(count, "bytes_written", "bytes_read", "nof_stores", "nof_silent", "dead_deallocated", "dead_exit"),
  ...each(count, "bytes_silent", "host_assumed_read"),
  ...each(optional(count), "nof_again", "visible_at_exit", "bytes_same", "silent_over_zero"),
  ...each(optional(count), "silent_approximate", "lanes_redundant", "bytes_over_segments", "incomplete"),
  bytes_dead: integer,
  dead_overwritten: integer,
  class: siteClass,
  frame: optional(flag),
  update: optional(flag),
});

const load = record<WasteLoad>({
  ips: someIps,
  nof_loads: count,
  nof_silent: integer,
  bytes_loaded: count,
  ...each(optional(count), "nof_again", "nof_redundant", "bytes_redundant", "nof_approximate", "bytes_zero"),
  ...each(optional(count), "incomplete"),
  values: optional(list(record<WasteValue>({ value: text, loads: count, exact: flag }))),
  class: siteClass,
  frame: optional(flag),
});

const pair = record<WastePair>({
  kind: oneOf("overwritten", "deallocated", "returned", "exit", "silent", "redundant"),
  ...each(optional(count), "first", "second", "end"),
  origin: optional(oneOf("init", "zero")),
  bytes: count,
  operations: count,
});

const type = record<WasteType>({ name: text, size: count, by: oneOf(...TYPE_RULES) });

const objects = record<WasteObjects>({
  ips: someIps,
  ...each(count, "objects", "bytes", "size", "bytesDead"),
  ...each(optional(count), "peak", "writeOnlyBytes", "holeBytes", "readUnwrittenBytes"),
  varies: flag,
  type: optional(type),
  ...each(optional(number), "meanLifetime", "usefulLifetime", "usage", "usageSpan", "ratioRead"),
  ...each(optional(number), "ratioWritten"),
  deadBy: optional(list(record<{ store: number; bytes: number }>({ store: count, bytes: count }))),
  writtenBy: optional(list(record<{ store: number; bytes: number }>({ store: count, bytes: count }))),
  readBy: optional(list(record<{ load: number; bytes: number }>({ load: count, bytes: count }))),
  tail: optional(flag),
  fields: list(
    record<WasteField>({
      ...each(count, "offset", "size", "reads", "writes", "dead", "silent"),
      ...each(optional(count), "overwritten", "deallocated", "exit", "accesses"),
      name: optional(text),
      type: optional(text),
    }),
  ),
});

const blocks = record<WasteBlocks>({
  ips: someIps,
  ...each(count, "blocks", "bytes", "size", "unread_blocks", "unread_bytes", "never_read"),
  varies: flag,
  type: optional(type),
  element: optional(count),
  padding: optional(count),
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
    ...each(count, "bytesWritten", "bytesRead", "deadDeallocated", "deadExit", "hostAssumedRead", "stores"),
    ...each(count, "silentStores", "loads", "bytesLoaded"),
    deadOverwritten: integer,
    visibleAtExit: optional(count),
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
 * Reads the text of a `waste.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
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
