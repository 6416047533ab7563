import {
  blockColumn,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
} from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { frameIds } from "../memprof/ids.ts";
import { buildCallStackArray } from "./call-stack-array.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";

/** The two words of a field, by block. */
export interface BlockWords {
  low(block: number): number;
  high(block: number): number;
}

/** A profile as versions 3 and 4 store it. */
export interface LinearProfile {
  readonly frames: MemprofFrames;
  /** Frames that occur, in file order. */
  readonly frameOrder: Uint32Array;
  /** Number of elements of the call stack array. */
  readonly elements: number;
  writeElements(writer: ChunkWriter): Chunks;
  /** Place in the call stack array, by stack as the records name it. */
  positionOf(stack: number): number;
  readonly records: MemprofRecords;
  /** A field of the blocks; undefined where it is not known. */
  field(field: MibField): BlockWords | undefined;
}

/** Lays out the stacks of a profile. */
export function linearize(profile: MemprofProfile): LinearProfile {
  const { frames, stacks, records, blocks } = profile;
  const isUsed = new Uint8Array(stacks.length);
  for (const stack of records.allocStack) isUsed[stack] = 1;
  for (const stack of records.callStack) isUsed[stack] = 1;
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
    positionOf: (stack) => positions[stack]!,
    records,
    field: ({ name }) => wordsOf(blockColumn(blocks, name)),
  };
}

/** A column as words; undefined where there is none. */
export function wordsOf(column: Uint32Array | BigUint64Array | undefined): BlockWords | undefined {
  if (column === undefined) return undefined;
  if (column instanceof Uint32Array) return { low: (block) => column[block]!, high: () => 0 };
  const words = new Uint32Array(column.buffer, column.byteOffset, 2 * column.length);
  return { low: (block) => words[2 * block]!, high: (block) => words[2 * block + 1]! };
}
