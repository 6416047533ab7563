import type { NativeBlocks, ShadowLayout } from "../tools/options.ts";
import { ADDRESS_BITS, Header, NATIVE_REGION_BITS, NATIVE_SLOT_BITS, PART_BITS, Place } from "./layout.ts";

/** Linear addresses of the heap's tables in the memory of a native program, for their readers. */
export const NATIVE_LAYOUT: ShadowLayout & { native: NativeBlocks } = {
  ...Place,
  coveredBytes: 2 ** ADDRESS_BITS,
  marks: 0,
  native: {
    partBits: PART_BITS,
    regionBits: NATIVE_REGION_BITS,
    slotBits: NATIVE_SLOT_BITS,
    partCount: Header.parts,
    parts: Place.parts,
    lastBucket: Header.lastBucket,
    buckets: Place.buckets,
  },
  histograms: 0,
  histogramsEnd: 0,
  // Call stacks are the program's own.
  hostWord: 0,
  stack: 0,
  stackCount: 1,
  stackDistance: 0,
  endBytes: Place.slotsEnd,
};
