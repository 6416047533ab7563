import type { MemprofFrames, MemprofRecords } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";
import {
  type Buckets,
  bucketsInOrder,
  bucketsOfInserted,
  entriesByBucket,
  type planTable,
} from "./hash-table.ts";
import type { ContainerVersion, MemprofVersion } from "./layout.ts";

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
  /** All stacks of the records in the order in which LLVM met them; record by record if not given. Version 2 shows it. */
  readonly stackOrder?: Iterable<number> | undefined;
}

/** Where a memprof section ends, and what writes it. */
export interface SectionPlan {
  readonly end: number;
  write(writer: ChunkWriter): Chunks;
}

export function writeFrame(writer: ChunkWriter, frames: MemprofFrames, frame: number): void {
  writer.u64s(frames.guid[frame]!);
  writer.u32(frames.lineOffset[frame]!);
  writer.u32(frames.column[frame]!);
  writer.u8(frames.inline[frame]!);
}

export function recordBuckets(records: MemprofRecords, { order }: WriteIndexedOptions): Buckets {
  return (order === "inserted" ? bucketsOfInserted : bucketsInOrder)(records.guid);
}

export function writeKey(writer: ChunkWriter, key: bigint, hasKeyLength: boolean, dataBytes: number): void {
  writer.u64s(key);
  if (hasKeyLength) writer.u64s(8);
  writer.u64s(dataBytes, key);
}

/** A table of LLVM's on-disk hash tables: entries bucket by bucket, and where the buckets are. */
export function* writeTable(
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

export function writeSchema(writer: ChunkWriter, schema: readonly MibField[]): void {
  writer.u64s(schema.length, ...schema.map(({ tag }) => tag));
}
