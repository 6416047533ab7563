import { type ByteSource, sourceOfBytes } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { Window } from "../../../ground/bytes/window.ts";
import {
  Column,
  type DataAccessProfile,
  type MemprofFrame,
  type MemprofProfile,
  type MemprofSummary,
  ProfileBuilder,
  type ProfileMerger,
  type RecordRows,
} from "../../model/memprof/index.ts";
import { mibFromFields } from "../../model/memprof/merge/block-merge.ts";
import { type Mib, mergeMib } from "../../model/mib.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { readContainer } from "./container.ts";
import { Cursor } from "./cursor.ts";
import { readDataAccess } from "./data-access.ts";
import { readTable } from "./hash-table.ts";
import { FRAME_BYTES, NEWEST_MEMPROF } from "./layout.ts";
import { type ChildStack, LinearStacks } from "./linear-stacks.ts";

const CONSTRUCT = "memprof section";
const MOST_SCHEMA_ENTRIES = 28;

export interface IndexedProfile {
  readonly memprofVersion: number;
  readonly schema: readonly MibField[];
  readonly profile: MemprofProfile;
}

/**
 * Reads the memory profile of an indexed instrumentation profile: containers 8 to 13, memprof versions 0 to 4, any
 * schema. Records come in stored order.
 *
 * @throws FormatError; of kind unsupported if the file has no memory profile
 */
export function readIndexed(bytes: Uint8Array | ByteSource): IndexedProfile {
  const { memprofVersion, cursor } = openSection(bytes);
  return { memprofVersion, ...READERS[memprofVersion]!(cursor, memprofVersion) };
}

/** Opens the memprof section of a file; the cursor is after the version. @throws FormatError as {@link readIndexed} */
export function openSection(bytes: Uint8Array | ByteSource) {
  const source = bytes instanceof Uint8Array ? sourceOfBytes(bytes) : bytes;
  const container = readContainer(source);
  const start = container.memprofOffset;
  if (start === undefined)
    throw new FormatError("unsupported", 8, "indexed profile header", "there is no memory profile in it");
  const cursor = new Cursor(new Window(source), start, CONSTRUCT);
  const first = cursor.u64();
  // Version 0 stores no version: its first field is an offset, which is never small.
  const memprofVersion = first <= BigInt(NEWEST_MEMPROF) ? Number(first) : 0;
  if (first > NEWEST_MEMPROF && first < start)
    throw new FormatError(
      "unsupported-version",
      start,
      CONSTRUCT,
      `MemProf version ${first} not supported; requires version between 2 and 4, inclusive`,
    );
  if (memprofVersion === 0) cursor.position = start;
  return { container, memprofVersion, cursor };
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
  const frameOf = readFrameTable(cursor.window, frameTable, builder);
  for (const { key, data, dataBytes } of readTable(cursor.window, recordTable, true, "record table")) {
    const entry = entryCursor(cursor.window, data, dataBytes, "record");
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
  const frameOf = readFrameTable(cursor.window, frameTable, builder);
  const stacks = new Map<bigint, number>();
  for (const { key, data, dataBytes } of readTable(cursor.window, stackTable, false, "call stack table")) {
    const entry = entryCursor(cursor.window, data, dataBytes, "call stack");
    const ids = Array.from({ length: Math.floor(dataBytes / 8) }, () => entry.u64());
    stacks.set(key, builder.stackOf(ids.map((id) => frameOf(id, entry))));
  }
  for (const { key, data, dataBytes } of readTable(cursor.window, recordTable, true, "record table")) {
    const entry = entryCursor(cursor.window, data, dataBytes, "record");
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
  const { schema, frames, stacksOf, records, dataAccess } = readLinear(cursor, version);
  const builder = newBuilder(schema);
  const ids = frames.map((frame) => builder.frames.intern(frame));
  const stacks = stacksOf((parent, frame) => builder.stacks.child(parent, ids[frame]!));
  for (const { guid, entry } of records()) {
    const readStack = () => stacks.at(entry.u32());
    readSites(entry, builder, newRecord(builder, guid, entry), schema, readStack, version === 4);
  }
  builder.dataAccess = dataAccess();
  return { schema, profile: builder.build() };
}

/** Memprof section of version 3 or 4 whose parts are read on demand. */
export interface LinearSection {
  readonly version: number;
  readonly summary: MemprofSummary | undefined;
  readonly schema: readonly MibField[];
  readonly frames: readonly MemprofFrame[];
  stacksOf(child: ChildStack): LinearStacks;
  /**
   * Yields the records in stored order; `entry` points to the record's data and is valid until the next record is
   * requested.
   */
  records(): Generator<{ readonly guid: bigint; readonly entry: Cursor }>;
  dataAccess(): DataAccessProfile | undefined;
}

export function readLinear(cursor: Cursor, version: number): LinearSection {
  const arrayStart = cursor.offset("call stack array");
  const recordPayload = cursor.offset("record payload");
  const recordTable = cursor.offset("record table");
  const dataAccess = version === 4 ? cursor.offset("data access profile") : 0;
  let summary: MemprofSummary | undefined;
  if (version === 4) summary = readSummary(cursor);
  const schema = readSchema(cursor);
  if (arrayStart < cursor.position || recordPayload < arrayStart)
    throw cursor.error("the call stack array is out of place");
  const frameCount = Math.floor((arrayStart - cursor.position) / FRAME_BYTES);
  const frames = Array.from({ length: frameCount }, () => readFrame(cursor));
  const { window } = cursor;
  return {
    version,
    summary,
    schema,
    frames,
    stacksOf: (child) => new LinearStacks(window, arrayStart, recordPayload, frameCount, child),
    *records() {
      for (const { key, data, dataBytes } of readTable(window, recordTable, true, "record table"))
        yield { guid: key, entry: entryCursor(window, data, dataBytes, "record") };
    },
    dataAccess: () => (dataAccess === 0 ? undefined : readDataAccess(window, dataAccess)),
  };
}

function readSummary(cursor: Cursor): MemprofSummary {
  const fields = cursor.u32();
  if (fields < 6) throw cursor.error(`${fields} summary fields, at least 6 are needed`);
  cursor.need(8 * fields, "summary");
  const summary = {
    contexts: cursor.u64(),
    coldContexts: cursor.u64(),
    hotContexts: cursor.u64(),
    maxColdTotalSize: cursor.u64(),
    maxWarmTotalSize: cursor.u64(),
    maxHotTotalSize: cursor.u64(),
  };
  cursor.skip(8 * (fields - 6));
  return summary;
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

/** Creates a builder whose blocks have their fields in tag order, each once, whatever the schema's order. */
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

function entryCursor(file: Window, start: number, size: number, construct: string): Cursor {
  return new Cursor(file, start, construct, start + size);
}

function readFrame(cursor: Cursor): MemprofFrame {
  const guid = cursor.u64();
  const lineOffset = cursor.u32();
  const column = cursor.u32();
  const inline = cursor.u8() !== 0;
  return { guid, lineOffset, column, inline };
}

function readFrameTable(
  file: Window,
  table: number,
  builder: ProfileBuilder,
): (id: bigint, user: Cursor) => number {
  const frames = new Map<bigint, number>();
  for (const { key, data, dataBytes } of readTable(file, table, true, "frame table")) {
    const frame = readFrame(entryCursor(file, data, dataBytes, "frame"));
    frames.set(key, builder.frames.intern(frame));
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
    for (const [index, { bytes }] of schema.entries())
      blocks.setNumber(columns[index]!, block, bytes === 4 ? entry.u32() : entry.u64());
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

/**
 * Adds the memory profile of an indexed file to a merger, with the same result as `addProfile` of `readIndexed`. In
 * versions 3 and 4 only pieces of the file are in memory. Nothing is added from a damaged file.
 *
 * @throws FormatError as {@link readIndexed}
 */
export function addIndexed(source: ByteSource, merger: ProfileMerger, input: number): void {
  const { memprofVersion, cursor } = openSection(source);
  if (memprofVersion < 3) {
    merger.addProfile(readIndexed(source).profile, input);
    return;
  }
  const section = readLinear(cursor, memprofVersion);
  const hasBlocks = check(section);
  const dataAccess = section.dataAccess();
  if (hasBlocks) merger.noteFields(section.schema);
  new SectionAdder(section, merger, input).add();
  merger.addDataAccess(dataAccess);
}

function check(section: LinearSection): boolean {
  const stacks = section.stacksOf(() => 0);
  const blockBytes = schemaBytes(section.schema);
  const seenGuids = new Set<bigint>();
  let hasBlocks = false;
  for (const { guid, entry } of section.records()) {
    if (seenGuids.has(guid)) throw entry.error(`function ${guid} has two records`);
    seenGuids.add(guid);
    for (let remaining = entry.count(4, "alloc sites"); remaining > 0; remaining--) {
      stacks.at(entry.u32());
      entry.skip(blockBytes);
      hasBlocks = true;
    }
    for (let remaining = entry.count(4, "call sites"); remaining > 0; remaining--) {
      stacks.at(entry.u32());
      readCallees(entry, section.version);
    }
  }
  return hasBlocks;
}

class SectionAdder {
  readonly #section: LinearSection;
  readonly #merger: ProfileMerger;
  readonly #input: number;
  readonly #stacks: LinearStacks;
  readonly #blockBytes: number;
  readonly #offsets: readonly number[];
  /**
   * Number (from 1) of the record that has the row's block, by row. A context in an inline chain is in several records.
   */
  readonly #owners = new Column();
  readonly #repeated = new Map<number, Mib | undefined>();

  constructor(section: LinearSection, merger: ProfileMerger, input: number) {
    const { schema } = section;
    this.#section = section;
    this.#merger = merger;
    this.#input = input;
    const frames = section.frames.map((frame) => merger.frames.intern(frame));
    this.#stacks = section.stacksOf((parent, frame) => merger.stacks.child(parent, frames[frame]!));
    this.#blockBytes = schemaBytes(schema);
    this.#offsets = merger.blocks.fields.map((field) => {
      // If a field occurs several times in the schema, the last one counts.
      const index = schema.lastIndexOf(field);
      return index < 0 ? -1 : schemaBytes(schema.slice(0, index));
    });
  }

  add(): void {
    const { blocks } = this.#merger;
    // Combining equal contexts of one process depends on their order, which is known only at the end.
    const isDelayed = blocks.dependsOnOrder;
    this.#addSites(!isDelayed);
    if (isDelayed) this.#addDelayed();
    this.#owners.release();
  }

  #addSites(withBlocks: boolean): void {
    const merger = this.#merger;
    const stacks = this.#stacks;
    const owners = this.#owners;
    const repeated = this.#repeated;
    let record = 0;
    for (const { guid, entry } of this.#section.records()) {
      record++;
      for (let remaining = entry.count(4, "alloc sites"); remaining > 0; remaining--) {
        const stack = stacks.at(entry.u32());
        const block = entry.skip(this.#blockBytes);
        if (stack === 0) continue;
        const rowCount = merger.contexts.length;
        const row = merger.contexts.rowOf(stack);
        merger.noteFunction(row, stack, guid);
        const owner = owners.get(row);
        if (owner === 0) owners.set(row, record);
        else if (owner === record) repeated.set(row, undefined);
        else continue;
        if (withBlocks) this.#addBlock(entry, block, row, row === rowCount);
      }
      for (let remaining = entry.count(4, "call sites"); remaining > 0; remaining--) {
        const stack = stacks.at(entry.u32());
        merger.callSites.add(guid, stack, readCallees(entry, this.#section.version));
      }
    }
  }

  #addDelayed(): void {
    const merger = this.#merger;
    const stacks = this.#stacks;
    const owners = this.#owners;
    const repeated = this.#repeated;
    const section = this.#section;
    const input = this.#input;
    let record = 0;
    for (const { entry } of section.records()) {
      record++;
      for (let remaining = entry.count(4, "alloc sites"); remaining > 0; remaining--) {
        const stack = stacks.at(entry.u32());
        const block = entry.skip(this.#blockBytes);
        if (stack === 0) continue;
        const row = merger.contexts.rowOf(stack);
        if (owners.get(row) !== record) continue;
        if (!repeated.has(row)) {
          this.#addBlock(entry, block, row, merger.blocks.isEmpty(row));
          continue;
        }
        const at = entry.window.at(block, this.#blockBytes);
        const mib = mibFromFields(entry.window.view, at, section.schema);
        const merged = repeated.get(row);
        if (merged === undefined) repeated.set(row, mib);
        else mergeMib(merged, mib);
      }
    }
    for (const [row, mib] of repeated)
      if (mib !== undefined) merger.blocks.addMib(mib, row, merger.blocks.isEmpty(row), input);
  }

  #addBlock({ window }: Cursor, block: number, row: number, isNew: boolean): void {
    const at = window.at(block, this.#blockBytes);
    this.#merger.blocks.addFields(window.view, at, this.#offsets, row, isNew, this.#input);
  }
}

export function schemaBytes(schema: readonly MibField[]): number {
  return schema.reduce((sum, { bytes }) => sum + bytes, 0);
}

export function readCallees(entry: Cursor, version: number): bigint[] | undefined {
  if (version < 4) return undefined;
  return Array.from({ length: entry.count(8, "callees") }, () => entry.u64());
}
