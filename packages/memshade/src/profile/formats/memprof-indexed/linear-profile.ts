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
  /** Puts the places in the call stack array of stacks, as the records name them, at every `step`-th place. */
  putPositions(stacks: Uint32Array, into: Uint32Array, first: number, step: number): void;
  readonly records: MemprofRecords;
  /** A field of the blocks; undefined where it is not known. */
  field(field: MibField): BlockWords | undefined;
}

/** Lays out the stacks of a profile. */
export function linearize(profile: MemprofProfile): LinearProfile {
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
