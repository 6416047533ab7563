import {
  blockColumn,
  type DataAccessProfile,
  framesOfStack,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
  type MemprofSummary,
  summarize,
} from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { callStackId, frameIds } from "../memprof/ids.ts";
import { type Chunks, ChunkWriter } from "./chunk-writer.ts";
import { writeDataAccess } from "./data-access.ts";
import { type Buckets, bucketsInOrder, bucketsOfInserted, entriesByBucket, planTable } from "./hash-table.ts";
import {
  type ContainerVersion,
  containerHeaderBytes,
  FRAME_BYTES,
  HAS_MEMPROF,
  MAGIC,
  MEMPROF_SUMMARY_FIELDS,
  type MemprofVersion,
  SUMMARY_BYTES,
  SUMMARY_CUTOFFS,
  SUMMARY_FIELDS,
} from "./layout.ts";
import { type LinearProfile, linearize, wordsOf } from "./linear-profile.ts";
import { RecordLayout } from "./record-layout.ts";

export interface WriteIndexedOptions {
  readonly version: MemprofVersion;
  readonly container: ContainerVersion;
  /** The fields of each block, in stored order; fields that the profile does not know are written as 0. */
  readonly schema: readonly MibField[];
  /**
   * "inserted": the records are inserted into the table one after another, as LLVM does. "stored": they come from a
   * table, or in ascending order, and keep their order within buckets.
   */
  readonly order: "inserted" | "stored";
}

/** What stands in version 4 beside the records. */
export interface Version4Extras {
  readonly dataAccess: DataAccessProfile | undefined;
  summary(): MemprofSummary;
}

/** An indexed profile, in pieces, so that it need not be in memory as a whole. */
export function writeIndexed(profile: MemprofProfile, options: WriteIndexedOptions): Chunks {
  if (options.version === 2) return writeContainer((start) => planVersion2(profile, options, start), options);
  const extras = { dataAccess: profile.dataAccess, summary: () => summarize(profile) };
  return writeLinear(linearize(profile), extras, options);
}

/** An indexed profile of version 3 or 4, of stacks that are laid out already. */
export function writeLinear(
  profile: LinearProfile,
  extras: Version4Extras,
  options: WriteIndexedOptions,
): Chunks {
  return writeContainer((start) => planVersion3Or4(profile, extras, options, start), options);
}

function* writeContainer(plan: (start: number) => SectionPlan, options: WriteIndexedOptions): Chunks {
  const writer = new ChunkWriter();
  const header = containerHeaderBytes(options.container);
  const functionTable = header + SUMMARY_BYTES;
  const memprof = functionTable + 24;
  const section = plan(memprof);
  const containerVersion = HAS_MEMPROF | BigInt(options.container);
  writer.bytes(MAGIC).u64s(containerVersion, 0, 0, functionTable, memprof);
  if (options.container >= 9) writer.u64s(section.end);
  if (options.container >= 10) writer.u64s(0);
  if (options.container >= 12) writer.u64s(section.end + 8);
  writer.u64s(SUMMARY_FIELDS, SUMMARY_CUTOFFS.length, 0, 0, 0, 0, 0, 0);
  for (const cutoff of SUMMARY_CUTOFFS) writer.u64s(cutoff, 0, 0);
  writer.u64s(1, 0, 0);
  yield* section.write(writer);
  if (options.container >= 9) writer.u64s(0);
  if (options.container >= 12) writer.u64s(0);
  yield* writer.finish();
}

interface SectionPlan {
  readonly end: number;
  write(writer: ChunkWriter): Chunks;
}

function planVersion3Or4(
  profile: LinearProfile,
  extras: Version4Extras,
  options: WriteIndexedOptions,
  start: number,
): SectionPlan {
  const { version, schema } = options;
  const { frames, frameOrder } = profile;
  const fields = schema.map((field) => profile.field(field));
  const records = new RecordLayout(profile.records, fields, schema, version);
  const headerBytes = version === 3 ? 32 : 40 + 4 + 8 * MEMPROF_SUMMARY_FIELDS;
  const framesAt = start + headerBytes + 8 + 8 * schema.length;
  const arrayAt = framesAt + FRAME_BYTES * frameOrder.length;
  const recordsAt = arrayAt + 4 * profile.elements;
  const table = planTable(
    recordsAt,
    recordBuckets(profile.records, options),
    (row) => 32 + records.bytesOf(row),
  );
  const dataAccess =
    version === 4 && extras.dataAccess !== undefined ? writeDataAccess(extras.dataAccess) : new Uint8Array(0);
  function* write(writer: ChunkWriter): Chunks {
    writer.u64s(version, arrayAt, recordsAt, table.bucketTable);
    if (version === 4) {
      const summary = extras.summary();
      writer.u64s(dataAccess.length === 0 ? 0 : table.end);
      writer.u32(MEMPROF_SUMMARY_FIELDS);
      writer.u64s(summary.contexts, summary.coldContexts, summary.hotContexts);
      writer.u64s(summary.maxColdTotalSize, summary.maxWarmTotalSize, summary.maxHotTotalSize);
    }
    writeSchema(writer, schema);
    for (const frame of frameOrder) {
      writeFrame(writer, frames, frame);
      if (writer.isFull) yield* writer.take();
    }
    yield* profile.writeElements(writer);
    for (const bucket of entriesByBucket(table.buckets)) {
      writer.u16(bucket.length);
      for (const row of bucket) {
        writeKey(writer, profile.records.guid[row]!, true, records.bytesOf(row));
        yield* records.write(writer, row, (stack) => writer.u32(profile.positionOf(stack)));
        if (writer.isFull) yield* writer.take();
      }
    }
    yield* writeBucketTable(writer, table, profile.records.length);
    writer.bytes(dataAccess);
  }
  return { end: table.end + dataAccess.length, write };
}

function writeFrame(writer: ChunkWriter, frames: MemprofFrames, frame: number): void {
  writer.u64s(frames.guid[frame]!);
  writer.u32(frames.lineOffset[frame]!);
  writer.u32(frames.column[frame]!);
  writer.u8(frames.inline[frame]!);
}

function planVersion2(profile: MemprofProfile, options: WriteIndexedOptions, start: number): SectionPlan {
  const { schema } = options;
  const ids = frameIds(profile.frames);
  const { used, depths } = stacksInOrderOfUse(profile);
  const stackIds = BigUint64Array.from(used, (stack) =>
    callStackId(framesOfStack(profile.stacks, stack).map((frame) => ids[frame]!)),
  );
  const idOfStack = new Map<number, bigint>();
  for (const [index, stack] of used.entries()) idOfStack.set(stack, stackIds[index]!);
  const usedFrames = framesInUse(profile, used);
  const fields = schema.map(({ name }) => wordsOf(blockColumn(profile.blocks, name)));
  const records = new RecordLayout(profile.records, fields, schema, 2);
  const buckets = options.order === "inserted" ? bucketsOfInserted : bucketsInOrder;
  const usedIds = BigUint64Array.from(usedFrames, (frame) => ids[frame]!);
  const recordsAt = start + 48 + 8 + 8 * schema.length;
  const recordTable = planTable(
    recordsAt,
    recordBuckets(profile.records, options),
    (row) => 32 + records.bytesOf(row),
  );
  const frameTable = planTable(recordTable.end, buckets(usedIds), () => 32 + FRAME_BYTES);
  const stackTable = planTable(frameTable.end, buckets(stackIds), (row) => 24 + 8 * depths[row]!);
  function* write(writer: ChunkWriter): Chunks {
    writer.u64s(2, recordTable.bucketTable, recordTable.end, frameTable.bucketTable);
    writer.u64s(frameTable.end, stackTable.bucketTable);
    writeSchema(writer, schema);
    for (const bucket of entriesByBucket(recordTable.buckets)) {
      writer.u16(bucket.length);
      for (const row of bucket) {
        writeKey(writer, profile.records.guid[row]!, true, records.bytesOf(row));
        yield* records.write(writer, row, (stack) => writer.u64s(idOfStack.get(stack)!));
        if (writer.isFull) yield* writer.take();
      }
    }
    yield* writeBucketTable(writer, recordTable, profile.records.length);
    for (const bucket of entriesByBucket(frameTable.buckets)) {
      writer.u16(bucket.length);
      for (const row of bucket) {
        writeKey(writer, usedIds[row]!, true, FRAME_BYTES);
        writeFrame(writer, profile.frames, usedFrames[row]!);
      }
      if (writer.isFull) yield* writer.take();
    }
    yield* writeBucketTable(writer, frameTable, usedFrames.length);
    for (const bucket of entriesByBucket(stackTable.buckets)) {
      writer.u16(bucket.length);
      for (const row of bucket) {
        writeKey(writer, stackIds[row]!, false, 8 * depths[row]!);
        for (const frame of framesOfStack(profile.stacks, used[row]!)) writer.u64s(ids[frame]!);
        if (writer.isFull) yield* writer.take();
      }
    }
    yield* writeBucketTable(writer, stackTable, used.length);
  }
  return { end: stackTable.end, write };
}

function recordBuckets(records: MemprofRecords, { order }: WriteIndexedOptions): Buckets {
  return (order === "inserted" ? bucketsOfInserted : bucketsInOrder)(records.guid);
}

function writeKey(writer: ChunkWriter, key: bigint, hasKeyLength: boolean, dataBytes: number): void {
  writer.u64s(key);
  if (hasKeyLength) writer.u64s(8);
  writer.u64s(dataBytes, key);
}

function* writeBucketTable(
  writer: ChunkWriter,
  { offsets, payloadEnd, bucketTable }: ReturnType<typeof planTable>,
  entries: number,
): Chunks {
  for (let at = payloadEnd; at < bucketTable; at++) writer.u8(0);
  writer.u64s(offsets.length, entries);
  for (const offset of offsets) {
    writer.u64s(offset);
    if (writer.isFull) yield* writer.take();
  }
}

function writeSchema(writer: ChunkWriter, schema: readonly MibField[]): void {
  writer.u64s(schema.length, ...schema.map(({ tag }) => tag));
}

/** Stacks by first use: those of the alloc sites of all records first, then those of the call sites. */
function stacksInOrderOfUse({ records, stacks }: MemprofProfile): { used: number[]; depths: number[] } {
  const used = [...new Set([...records.allocStack, ...records.callStack])];
  return { used, depths: used.map((stack) => framesOfStack(stacks, stack).length) };
}

function framesInUse({ stacks }: MemprofProfile, used: readonly number[]): number[] {
  const frames = new Set<number>();
  for (const stack of used) for (const frame of framesOfStack(stacks, stack)) frames.add(frame);
  return [...frames];
}
