import { UserError } from "../../../ground/bytes/errors.ts";
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
} from "../check.ts";
import { namedModule } from "../named-module.ts";
import {
  TYPE_RULES,
  WASTE_SCHEMA,
  WASTE_VERSION,
  type WasteBlocks,
  type WasteEnd,
  type WasteField,
  type WasteFile,
  type WasteFileOptions,
  type WasteFrame,
  type WasteIp,
  type WasteLoad,
  type WasteObjects,
  type WastePair,
  type WasteReallocations,
  type WasteStore,
  type WasteTotals,
  type WasteType,
  type WasteUnreadField,
  type WasteValue,
} from "./waste.ts";

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
