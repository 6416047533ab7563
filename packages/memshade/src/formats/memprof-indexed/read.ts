import { FormatError } from "../../bytes/errors.ts";
import { type MemprofProfile, ProfileBuilder, type RecordRows } from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { readContainer } from "./container.ts";
import { Cursor } from "./cursor.ts";
import { readDataAccess } from "./data-access.ts";
import { readTable } from "./hash-table.ts";
import { FRAME_BYTES, NEWEST_MEMPROF } from "./layout.ts";
import { LinearStacks } from "./linear-stacks.ts";

const CONSTRUCT = "memprof section";
const MOST_SCHEMA_ENTRIES = 28;

/** What an indexed file holds. */
export interface IndexedProfile {
  readonly containerVersion: number;
  /** 0 to 4. */
  readonly memprofVersion: number;
  /** Fields of a block, in stored order. */
  readonly schema: readonly MibField[];
  readonly profile: MemprofProfile;
  /** Whether the file has nothing but the memory profile. */
  readonly isMemoryOnly: boolean;
}

/**
 * Reads the memory profile of an indexed instrumentation profile: containers 8 to 13, memprof versions 0 to 4, any
 * schema. Records come in stored order.
 *
 * @throws FormatError; of kind unsupported if the file has no memory profile
 */
export function readIndexed(bytes: Uint8Array): IndexedProfile {
  const container = readContainer(bytes);
  const start = container.memprofOffset;
  if (start === undefined) {
    throw new FormatError("unsupported", 8, "indexed profile header", "there is no memory profile in it");
  }
  const cursor = new Cursor(bytes, start, CONSTRUCT);
  const first = cursor.u64();
  // Version 0 has no version: its first field is an offset, and never small.
  const memprofVersion = first <= BigInt(NEWEST_MEMPROF) ? Number(first) : 0;
  if (first > NEWEST_MEMPROF && first < start) {
    throw new FormatError(
      "unsupported-version",
      start,
      CONSTRUCT,
      `MemProf version ${first} not supported; requires version between 2 and 4, inclusive`,
    );
  }
  if (memprofVersion === 0) cursor.position = start;
  const { schema, profile } = READERS[memprofVersion]!(cursor, memprofVersion);
  return {
    containerVersion: container.version,
    memprofVersion,
    schema,
    profile,
    isMemoryOnly: container.isMemoryOnly,
  };
}

interface SectionContent {
  readonly schema: readonly MibField[];
  readonly profile: MemprofProfile;
}
type SectionReader = (cursor: Cursor, version: number) => SectionContent;

const READERS: readonly SectionReader[] = [
  readVersion0Or1,
  readVersion0Or1,
  readVersion2,
  readVersion3Or4,
  readVersion3Or4,
];

function readVersion0Or1(cursor: Cursor): SectionContent {
  const recordTable = cursor.offset("record table");
  cursor.offset("frame payload");
  const frameTable = cursor.offset("frame table");
  const schema = readSchema(cursor);
  const builder = newBuilder(schema);
  const frameOf = readFrameTable(cursor.bytes, frameTable, builder);
  for (const { key, data, dataBytes } of readTable(cursor.bytes, recordTable, true, "record table")) {
    const entry = entryCursor(cursor.bytes, data, dataBytes, "record");
    const readStack = () => {
      const ids = Array.from({ length: entry.count(8, "frames") }, () => entry.u64());
      return builder.stackOf(ids.map((id) => frameOf(id, entry)));
    };
    readSites(entry, builder, newRecord(builder, key, entry), schema, readStack, false);
  }
  return { schema, profile: builder.build() };
}

function readVersion2(cursor: Cursor): SectionContent {
  const recordTable = cursor.offset("record table");
  cursor.offset("frame payload");
  const frameTable = cursor.offset("frame table");
  cursor.offset("call stack payload");
  const stackTable = cursor.offset("call stack table");
  const schema = readSchema(cursor);
  const builder = newBuilder(schema);
  const frameOf = readFrameTable(cursor.bytes, frameTable, builder);
  const stacks = new Map<bigint, number>();
  for (const { key, data, dataBytes } of readTable(cursor.bytes, stackTable, false, "call stack table")) {
    const entry = entryCursor(cursor.bytes, data, dataBytes, "call stack");
    const ids = Array.from({ length: Math.floor(dataBytes / 8) }, () => entry.u64());
    stacks.set(key, builder.stackOf(ids.map((id) => frameOf(id, entry))));
  }
  for (const { key, data, dataBytes } of readTable(cursor.bytes, recordTable, true, "record table")) {
    const entry = entryCursor(cursor.bytes, data, dataBytes, "record");
    const readStack = () => {
      const id = entry.u64();
      const stack = stacks.get(id);
      if (stack === undefined) throw entry.error(`no call stack has the id ${id}`);
      return stack;
    };
    readSites(entry, builder, newRecord(builder, key, entry), schema, readStack, false);
  }
  return { schema, profile: builder.build() };
}

function readVersion3Or4(cursor: Cursor, version: number): SectionContent {
  const arrayStart = cursor.offset("call stack array");
  const recordPayload = cursor.offset("record payload");
  const recordTable = cursor.offset("record table");
  const dataAccess = version === 4 ? cursor.offset("data access profile") : 0;
  if (version === 4) {
    const summaryFields = cursor.u32();
    if (summaryFields < 6) throw cursor.error(`${summaryFields} summary fields, at least 6 are needed`);
    cursor.need(8 * summaryFields, "summary");
    cursor.skip(8 * summaryFields);
  }
  const schema = readSchema(cursor);
  if (arrayStart < cursor.position || recordPayload < arrayStart) {
    throw cursor.error("the call stack array is out of place");
  }
  const builder = newBuilder(schema);
  const frameCount = Math.floor((arrayStart - cursor.position) / FRAME_BYTES);
  const frames = Array.from({ length: frameCount }, () => readFrame(cursor, builder));
  const stacks = new LinearStacks(cursor.bytes, arrayStart, recordPayload, frames, builder.stacks);
  for (const { key, data, dataBytes } of readTable(cursor.bytes, recordTable, true, "record table")) {
    const entry = entryCursor(cursor.bytes, data, dataBytes, "record");
    const readStack = () => stacks.at(entry.u32());
    readSites(entry, builder, newRecord(builder, key, entry), schema, readStack, version === 4);
  }
  if (dataAccess !== 0) builder.dataAccess = readDataAccess(cursor.bytes, dataAccess);
  return { schema, profile: builder.build() };
}

function readSchema(cursor: Cursor): MibField[] {
  const start = cursor.position;
  const count = cursor.u64();
  const invalid = (detail: string) =>
    new FormatError("malformed", start, CONSTRUCT, `memprof schema invalid: ${detail}`);
  if (count > MOST_SCHEMA_ENTRIES) throw invalid(`${count} entries`);
  return Array.from({ length: Number(count) }, () => {
    const tag = cursor.u64();
    const field = MIB_FIELDS.find((candidate) => BigInt(candidate.tag) === tag);
    if (field === undefined) throw invalid(`there is no field ${tag}`);
    return field;
  });
}

/** Blocks have their fields in tag order, each once, whatever the schema's order. */
function newBuilder(schema: readonly MibField[]): ProfileBuilder {
  return new ProfileBuilder(
    MIB_FIELDS.filter((field) => schema.includes(field)),
    false,
  );
}

function newRecord(builder: ProfileBuilder, guid: bigint, entry: Cursor): RecordRows {
  if (builder.has(guid)) throw entry.error(`function ${guid} has two records`);
  return builder.record(guid);
}

function entryCursor(bytes: Uint8Array, start: number, size: number, construct: string): Cursor {
  const cursor = new Cursor(bytes.subarray(0, start + size), start, construct);
  return cursor;
}

function readFrame(cursor: Cursor, builder: ProfileBuilder): number {
  const guid = cursor.u64();
  const lineOffset = cursor.u32();
  const column = cursor.u32();
  const inline = cursor.u8() !== 0;
  return builder.frames.intern({ guid, lineOffset, column, inline });
}

/** The frame table of versions 0 to 2: from the keys in it to frames. */
function readFrameTable(
  bytes: Uint8Array,
  table: number,
  builder: ProfileBuilder,
): (id: bigint, user: Cursor) => number {
  const frames = new Map<bigint, number>();
  for (const { key, data, dataBytes } of readTable(bytes, table, true, "frame table")) {
    frames.set(key, readFrame(entryCursor(bytes, data, dataBytes, "frame"), builder));
  }
  return (id, user) => {
    const frame = frames.get(id);
    if (frame === undefined) throw user.error(`no frame has the id ${id}`);
    return frame;
  };
}

function readSites(
  entry: Cursor,
  builder: ProfileBuilder,
  record: RecordRows,
  schema: readonly MibField[],
  readStack: () => number,
  hasCallees: boolean,
): void {
  const { blocks } = builder;
  const columns = schema.map((field) => blocks.fields.indexOf(field));
  const allocSites = entry.count(4, "alloc sites");
  for (let site = 0; site < allocSites; site++) {
    const stack = readStack();
    const block = blocks.addRow();
    for (const [index, { bytes }] of schema.entries()) {
      blocks.setNumber(columns[index]!, block, bytes === 4 ? entry.u32() : entry.u64());
    }
    record.addAllocSite(stack, block);
  }
  const callSites = entry.count(4, "call sites");
  for (let site = 0; site < callSites; site++) {
    const stack = readStack();
    const callees = hasCallees
      ? Array.from({ length: entry.count(8, "callees") }, () => entry.u64())
      : undefined;
    record.addCallSite(stack, callees);
  }
}
