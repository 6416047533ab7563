import { ByteReader } from "../../../ground/bytes/reader.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { Frames } from "./call-frames.ts";

/** Calls that have a slot in their function's frames, in slot order. */
export interface SlotTable {
  offset: readonly number[];
  /** First slot of each defined function, and the end of the last. */
  firstOfFunction: readonly number[];
}

/** Encodes the slots for the module's description, as distances between code offsets. */
export function encodeSlots({ calls, shapes }: Pick<Frames, "calls" | "shapes">): Uint8Array {
  const { firstSlot, callOfSlot } = shapes;
  const functions = firstSlot.length - 1;
  const writer = new ByteWriter(firstSlot[functions] * 2 + functions + 16);
  let last = 0;
  for (let defined = 0; defined < functions; defined++) {
    writer.u32Leb(firstSlot[defined + 1] - firstSlot[defined]);
    for (let slot = firstSlot[defined]; slot < firstSlot[defined + 1]; slot++) {
      const offset = calls.offset[callOfSlot[slot]];
      writer.s32Leb(offset - last);
      last = offset;
    }
  }
  return writer.finish();
}

export function decodeSlots(bytes: Uint8Array): SlotTable {
  const reader = new ByteReader(bytes);
  const offset: number[] = [];
  const firstOfFunction = [0];
  for (let last = 0; !reader.atEnd; firstOfFunction.push(offset.length))
    for (let remaining = reader.u32Leb(); remaining > 0; remaining--) {
      last += reader.s32Leb();
      offset.push(last);
    }
  return { offset, firstOfFunction };
}
