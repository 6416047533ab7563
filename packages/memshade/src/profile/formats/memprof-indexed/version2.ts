import { Column, type MemprofRecords, RankedBits, type StackTreeView } from "../../model/memprof/index.ts";
import { callStackId, frameIds } from "../memprof/ids.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";
import { bucketsInOrder, bucketsOfInserted, planTable } from "./hash-table.ts";
import { FRAME_BYTES } from "./layout.ts";
import { RecordLayout } from "./record-layout.ts";
import {
  recordBuckets,
  type SectionPlan,
  type WriteIndexedOptions,
  writeFrame,
  writeKey,
  writeSchema,
  writeTable,
} from "./section-parts.ts";

/** The memprof section of version 2: tables of records, of frames, and of call stacks with all their frames. */
export function planVersion2(
  profile: StackTreeView,
  options: WriteIndexedOptions,
  start: number,
): SectionPlan {
  const { schema } = options;
  const ids = frameIds(profile.frames);
  const order = options.stackOrder ?? profile.metStacks ?? stacksByRecord(profile.records);
  const stacks = new StacksInUse(profile, ids, order);
  // LLVM puts in all frames in the order in which it met them.
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

/** All stacks of one record after the other. */
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

/** Stacks by first use. */
class StacksInUse {
  /** Ids of the stacks. */
  readonly ids: BigUint64Array;
  /** Frames that occur, in the order of their first use. */
  readonly frames: readonly number[];
  /** The frames that `readFrames` has read, leaf first. */
  readonly path: number[] = [];
  readonly #profile: StackTreeView;
  /** Numbers of the stacks in the tree. */
  readonly #used = new RankedBits();
  /** By number of the stack among those: its place in the order of use. */
  readonly #places = new Column();
  /** By place: the stack as the records name it. */
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

  /** Puts the ids of stacks as the records name them, two words each, at every `step`-th place. */
  putIds(stacks: Uint32Array, into: Uint32Array, first: number, step: number): void {
    for (let index = 0, at = first; index < stacks.length; index++, at += step) {
      const id = this.ids[this.#places.get(this.#rankOf(stacks[index]!)) - 1]!;
      into[at] = Number(id & 0xffffffffn);
      into[at + 1] = Number(id >> 32n);
    }
  }

  /** Reads the frames of the stack at a place into `path`. @returns how many they are */
  readFrames(place: number): number {
    return this.#profile.framesOf(this.#stacks.get(place), this.path);
  }

  #rankOf(stack: number): number {
    return this.#used.rankOf(this.#profile.numberOf(stack));
  }
}
