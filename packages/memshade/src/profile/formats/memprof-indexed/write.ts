import {
  type BlockWords,
  ChainOrder,
  Column,
  countFrames,
  type DataAccessProfile,
  freeArray,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
  type MemprofSummary,
  MergedOrder,
  type ProfileMerger,
  RankedBits,
  type StackTreeView,
  summarize,
  summaryOfMerged,
  viewMerged,
  viewOf,
} from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { callStackId, frameIds } from "../memprof/ids.ts";
import { buildCallStackArray, orderFrames } from "./call-stack-array.ts";
import { ChainArray, type Chunks, ChunkWriter } from "./chain-array.ts";
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

interface WriteIndexedOptions {
  readonly version: MemprofVersion;
  readonly container: ContainerVersion;
  /** Fields of each block, in stored order; fields that the profile lacks are written as 0. */
  readonly schema: readonly MibField[];
  /**
   * "inserted": the records are inserted into the table one after another, as LLVM does. "stored": the records come
   * from a table, or in ascending order, and keep their order within buckets.
   */
  readonly order: "inserted" | "stored";
  /**
   * All stacks of the records in the order in which LLVM encountered them; record by record by default. Only version 2
   * depends on the order.
   */
  readonly stackOrder?: Iterable<number> | undefined;
}

interface Version4Extras {
  readonly dataAccess: DataAccessProfile | undefined;
  summary(): MemprofSummary;
}

/** Writes an indexed profile in pieces, so that the file need not be in memory as a whole. */
export function writeIndexed(profile: MemprofProfile, options: WriteIndexedOptions): Chunks {
  if (options.version === 2) return writeVersion2(viewOf(profile), options);
  const extras = { dataAccess: profile.dataAccess, summary: () => summarize(profile) };
  return writeLinear(linearize(profile), extras, options);
}

function writeVersion2(profile: StackTreeView, options: WriteIndexedOptions): Chunks {
  return writeContainer((start) => planVersion2(profile, options, start), options);
}

function writeLinear(profile: LinearProfile, extras: Version4Extras, options: WriteIndexedOptions): Chunks {
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
    yield* writeTable(writer, table, profile.records.length, (row) => {
      writeKey(writer, profile.records.guid[row]!, true, records.bytesOf(row));
      return records.write(writer, row, profile.putPositions);
    });
    writer.bytes(dataAccess);
  }
  return { end: table.end + dataAccess.length, write };
}

/** Profile in the form in which versions 3 and 4 store it. */
interface LinearProfile {
  readonly frames: MemprofFrames;
  readonly frameOrder: Uint32Array;
  readonly elements: number;
  writeElements(writer: ChunkWriter): Chunks;
  /**
   * Stores the positions of stacks in the call stack array, at every `step`-th index of `into`. Stacks are given as the
   * records name them.
   */
  putPositions(stacks: Uint32Array, into: Uint32Array, first: number, step: number): void;
  readonly records: MemprofRecords;
  field(field: MibField): BlockWords | undefined;
}

function linearize(profile: MemprofProfile): LinearProfile {
  const { frames, stacks, records, metStacks = [] } = profile;
  const isUsed = new Uint8Array(stacks.length);
  for (const stack of records.allocStack) isUsed[stack] = 1;
  for (const stack of records.callStack) isUsed[stack] = 1;
  for (const stack of metStacks) isUsed[stack] = 1;
  const { frames: frameOrder, elements, positions } = buildCallStackArray(stacks, isUsed, frameIds(frames));
  return {
    frames,
    frameOrder,
    elements: elements.length,
    *writeElements(writer) {
      for (const element of elements) {
        writer.u32(element);
        if (writer.isFull) yield* writer.take();
      }
    },
    putPositions(wanted, into, first, step) {
      for (let index = 0; index < wanted.length; index++)
        into[first + index * step] = positions[wanted[index]!]!;
    },
    records,
    field: viewOf(profile).field,
  };
}

interface MergedIndexed {
  readonly contexts: number;
  readonly functions: number;
  readonly chunks: Chunks;
}

/**
 * Writes a merger's contents as an indexed profile, with the same bytes as `writeIndexed` of the built profile. The
 * writer reads the merger's own tables and makes no copy of their size. The merger is consumed.
 */
export function writeMerged(merger: ProfileMerger, options: WriteIndexedOptions): MergedIndexed {
  const contexts = merger.contexts.length;
  const written = { ...options, order: "stored" } as const;
  if (options.version === 2) {
    const view = viewMerged(merger);
    return { contexts, functions: view.records.length, chunks: writeVersion2(view, written) };
  }
  const profile = linearizeMerged(merger);
  const summary = () => summaryOfMerged(merger);
  return {
    contexts,
    functions: profile.records.length,
    chunks: writeLinear(profile, { dataAccess: merger.dataAccess, summary }, written),
  };
}

/**
 * Lays out the merged stacks. A record names the stack of a context by the context's row, and the stack of a call site
 * by a number above all rows.
 */
function linearizeMerged(merger: ProfileMerger): LinearProfile {
  const { stacks, contexts, blocks } = merger;
  const merged = new MergedOrder(merger);
  const { frames, ranks, used, branches } = merged;
  const byCount = orderFrames(countFrames(stacks, used, branches, ranks), frameIds(frames));
  const canonical = merged.makeTree();
  const arranged = merged.arrange(canonical);
  canonical.release();
  const { order, calls } = arranged;
  const records = merged.records(arranged, (index) => order[index]!);
  freeArray(order);
  // Stacks refer to frames in arrival order; these tables map a frame to its rank among siblings and to its number in
  // the file.
  const siblings = ranks.map((rank) => byCount.ranks[rank]!);
  const array = new ChainArray(stacks, used, branches);
  const positions = new Column();
  const elements = array.layOut(new ChainOrder(stacks, siblings, branches), (stack, position) => {
    positions.set(used.rankOf(stack), position);
  });
  const stackOf = (site: number) =>
    site < contexts.length ? contexts.keyOf(site) : calls[site - contexts.length]!;
  return {
    frames,
    frameOrder: byCount.frames,
    elements,
    *writeElements(writer) {
      yield* array.write(
        writer,
        ranks.map((rank) => byCount.linearIds[rank]!),
      );
      array.release();
      stacks.release();
    },
    putPositions(sites, into, first, step) {
      // The values lie far apart in memory, so each table is read for many sites at once.
      const stacks = sites.map(stackOf);
      used.ranksOf(stacks);
      positions.gather(stacks, into, first, step);
    },
    records,
    field: (wanted) => {
      if (!merger.knownFields.includes(wanted)) return undefined;
      return blocks.words(blocks.fields.indexOf(wanted));
    },
  };
}

const SITES_AT_ONCE = 512;

/**
 * Stores the form in which a version refers to stacks, at every `step`-th index of an array. Stacks are given as the
 * records name them.
 */
type PutStacks = (stacks: Uint32Array, into: Uint32Array, first: number, step: number) => void;

/** Data of records: allocation sites with their blocks, then call sites. */
class RecordLayout {
  readonly #records: MemprofRecords;
  readonly #version: MemprofVersion;
  readonly #columns: readonly { bytes: number; values: BlockWords | undefined }[];
  readonly #blockBytes: number;
  readonly #stackBytes: number;
  readonly #words: Uint32Array;

  /** @param fields columns of the blocks for each entry of the schema; absent ones are written as 0 */
  constructor(
    records: MemprofRecords,
    fields: readonly (BlockWords | undefined)[],
    schema: readonly MibField[],
    version: MemprofVersion,
  ) {
    this.#records = records;
    this.#version = version;
    this.#columns = schema.map(({ name, bytes }, index) => ({
      bytes,
      // The histogram's address is meaningless outside of the recorded process.
      values: name === "accessHistogram" ? undefined : fields[index],
    }));
    this.#blockBytes = schema.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#stackBytes = version === 2 ? 8 : 4;
    this.#words = new Uint32Array((SITES_AT_ONCE * (this.#stackBytes + this.#blockBytes)) / 4);
  }

  bytesOf(row: number): number {
    const { allocStart, callStart, callees } = this.#records;
    const allocs = allocStart[row + 1]! - allocStart[row]!;
    const calls = callStart[row + 1]! - callStart[row]!;
    let bytes = 16 + allocs * (this.#stackBytes + this.#blockBytes) + calls * this.#stackBytes;
    if (this.#version === 4) {
      bytes += 8 * calls;
      for (let site = callStart[row]!; callees.size > 0 && site < callStart[row + 1]!; site++)
        bytes += 8 * (callees.get(site)?.length ?? 0);
    }
    return bytes;
  }

  /** Yields pieces while writing, because the record of a busy function may be most of the file. */
  *write(writer: ChunkWriter, row: number, putStacks: PutStacks): Chunks {
    const { allocStart, callStart, callStack, callees } = this.#records;
    writer.u64s(allocStart[row + 1]! - allocStart[row]!);
    for (let site = allocStart[row]!; site < allocStart[row + 1]!; site += SITES_AT_ONCE) {
      this.#writeSites(writer, site, Math.min(site + SITES_AT_ONCE, allocStart[row + 1]!), putStacks);
      if (writer.isFull) yield* writer.take();
    }
    writer.u64s(callStart[row + 1]! - callStart[row]!);
    const stackWords = this.#stackBytes / 4;
    for (let site = callStart[row]!; site < callStart[row + 1]!; site++) {
      putStacks(callStack.subarray(site, site + 1), this.#words, 0, stackWords);
      writer.words(this.#words.subarray(0, stackWords));
      if (this.#version === 4) {
        const targets = callees.get(site) ?? [];
        writer.u64s(targets.length, ...targets);
      }
      if (writer.isFull) yield* writer.take();
    }
  }

  /**
   * Fills in column by column: the rows of blocks lie far apart in each column, and reading many at once hides memory
   * latency.
   */
  #writeSites(writer: ChunkWriter, start: number, end: number, putStacks: PutStacks): void {
    const { allocStack, allocBlock } = this.#records;
    const words = this.#words;
    const siteWords = (this.#stackBytes + this.#blockBytes) / 4;
    putStacks(allocStack.subarray(start, end), words, 0, siteWords);
    const blocks = allocBlock.subarray(start, end);
    let at = this.#stackBytes / 4;
    for (const { bytes, values } of this.#columns) {
      values?.gather(blocks, words, at, siteWords);
      at += bytes / 4;
    }
    writer.words(words.subarray(0, (end - start) * siteWords));
  }
}

/** Plans the memprof section of version 2: tables of records, of frames, and of call stacks with all their frames. */
function planVersion2(profile: StackTreeView, options: WriteIndexedOptions, start: number): SectionPlan {
  const { schema } = options;
  const ids = frameIds(profile.frames);
  const order = options.stackOrder ?? profile.metStacks ?? stacksByRecord(profile.records);
  const stacks = new StacksInUse(profile, ids, order);
  // LLVM inserts all frames in the order in which it encountered them.
  const usedFrames = options.order === "inserted" ? [...ids.keys()] : stacks.frames;
  const fields = schema.map((field) => profile.field(field));
  const records = new RecordLayout(profile.records, fields, schema, 2);
  const buckets = options.order === "inserted" ? bucketsOfInserted : bucketsInOrder;
  const usedIds = BigUint64Array.from(usedFrames, (frame) => ids[frame]!);
  const recordTable = planTable(
    start + 48 + 8 + 8 * schema.length,
    recordBuckets(profile.records, options),
    (row) => 32 + records.bytesOf(row),
  );
  const frameTable = planTable(recordTable.end, buckets(usedIds), () => 32 + FRAME_BYTES);
  const stackTable = planTable(frameTable.end, buckets(stacks.ids), (row) => 24 + 8 * stacks.readFrames(row));
  function* write(writer: ChunkWriter): Chunks {
    writer.u64s(2, recordTable.bucketTable, recordTable.end, frameTable.bucketTable);
    writer.u64s(frameTable.end, stackTable.bucketTable);
    writeSchema(writer, schema);
    yield* writeTable(writer, recordTable, profile.records.length, (row) => {
      writeKey(writer, profile.records.guid[row]!, true, records.bytesOf(row));
      return records.write(writer, row, (sites, into, first, step) =>
        stacks.putIds(sites, into, first, step),
      );
    });
    yield* writeTable(writer, frameTable, usedFrames.length, (row) => {
      writeKey(writer, usedIds[row]!, true, FRAME_BYTES);
      writeFrame(writer, profile.frames, usedFrames[row]!);
      return undefined;
    });
    yield* writeTable(writer, stackTable, stacks.ids.length, (row) => {
      const depth = stacks.readFrames(row);
      writeKey(writer, stacks.ids[row]!, false, 8 * depth);
      for (let at = 0; at < depth; at++) writer.u64s(ids[stacks.path[at]!]!);
      return undefined;
    });
  }
  return { end: stackTable.end, write };
}

function* stacksByRecord({
  length,
  allocStart,
  allocStack,
  callStart,
  callStack,
}: MemprofRecords): Generator<number> {
  for (let row = 0; row < length; row++) {
    for (let at = allocStart[row]!; at < allocStart[row + 1]!; at++) yield allocStack[at]!;
    for (let at = callStart[row]!; at < callStart[row + 1]!; at++) yield callStack[at]!;
  }
}

class StacksInUse {
  readonly ids: BigUint64Array;
  readonly frames: readonly number[];
  readonly path: number[] = [];
  readonly #profile: StackTreeView;
  readonly #used = new RankedBits();
  /** Place in the order of use, by rank of the stack in `#used`. */
  readonly #places = new Column();
  readonly #stacks = new Column();

  constructor(profile: StackTreeView, frameIds: BigUint64Array, order: Iterable<number>) {
    this.#profile = profile;
    const { allocStack, callStack } = profile.records;
    for (const column of [allocStack, callStack, profile.metStacks ?? []])
      for (const stack of column) this.#used.set(profile.numberOf(stack));
    this.#used.rankAll();
    let count = 0;
    for (const stack of order) {
      const rank = this.#rankOf(stack);
      if (this.#places.get(rank) !== 0) continue;
      this.#stacks.set(count++, stack);
      this.#places.set(rank, count);
    }
    const frames = new Set<number>();
    this.ids = BigUint64Array.from({ length: count }, (_, place) => {
      const depth = this.readFrames(place);
      for (let at = 0; at < depth; at++) frames.add(this.path[at]!);
      return callStackId(this.path.slice(0, depth).map((frame) => frameIds[frame]!));
    });
    this.frames = [...frames];
  }

  /** Stores the ids of stacks, two words each, at every `step`-th index. Stacks are given as the records name them. */
  putIds(stacks: Uint32Array, into: Uint32Array, first: number, step: number): void {
    for (let index = 0, at = first; index < stacks.length; index++, at += step) {
      const id = this.ids[this.#places.get(this.#rankOf(stacks[index]!)) - 1]!;
      into[at] = Number(id & 0xffffffffn);
      into[at + 1] = Number(id >> 32n);
    }
  }

  /** Reads the frames of the stack at a place into `path`. @returns the number of frames */
  readFrames(place: number): number {
    return this.#profile.framesOf(this.#stacks.get(place), this.path);
  }

  #rankOf(stack: number): number {
    return this.#used.rankOf(this.#profile.numberOf(stack));
  }
}

interface SectionPlan {
  readonly end: number;
  write(writer: ChunkWriter): Chunks;
}

function writeFrame(writer: ChunkWriter, frames: MemprofFrames, frame: number): void {
  writer.u64s(frames.guid[frame]!);
  writer.u32(frames.lineOffset[frame]!);
  writer.u32(frames.column[frame]!);
  writer.u8(frames.inline[frame]!);
}

function recordBuckets(records: MemprofRecords, { order }: WriteIndexedOptions): Buckets {
  return (order === "inserted" ? bucketsOfInserted : bucketsInOrder)(records.guid);
}

function writeKey(writer: ChunkWriter, key: bigint, hasKeyLength: boolean, dataBytes: number): void {
  writer.u64s(key);
  if (hasKeyLength) writer.u64s(8);
  writer.u64s(dataBytes, key);
}

/** Writes a table of LLVM's on-disk hash tables: entries bucket by bucket, then the offsets of the buckets. */
function* writeTable(
  writer: ChunkWriter,
  { buckets, offsets, payloadEnd, bucketTable }: ReturnType<typeof planTable>,
  entries: number,
  writeEntry: (row: number) => Chunks | undefined,
): Chunks {
  for (const bucket of entriesByBucket(buckets)) {
    writer.u16(bucket.length);
    for (const row of bucket) {
      const pieces = writeEntry(row);
      if (pieces !== undefined) yield* pieces;
      if (writer.isFull) yield* writer.take();
    }
  }
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
