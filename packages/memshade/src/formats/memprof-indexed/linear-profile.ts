import {
  type BlockWords,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
  viewOf,
} from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { frameIds } from "../memprof/ids.ts";
import { buildCallStackArray } from "./call-stack-array.ts";
import type { Chunks, ChunkWriter } from "./chunk-writer.ts";

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
  const { frames, stacks, records } = profile;
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
    field: viewOf(profile).field,
  };
}
