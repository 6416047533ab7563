import type { WasmModule } from "../../../code/wasm/index.ts";
import { CallTreatment } from "../call-plan.ts";
import { FRAME_HEADER_BYTES, SLOT_BYTES } from "../layout.ts";
import type { CallSites } from "./call-sites.ts";
import type { FramePlan } from "./frame-plan.ts";

/**
 * The frames of a module: what a function has in memory for each context it runs in. Behind a header stand the
 * records of its sites, then a slot for each call whose callee wants to know its context: those that add their place first.
 */
export interface FrameShapes {
  /** Bytes of the header and the records, by defined function. */
  recordBytes: Uint32Array;
  /** Number of a function's first slot among those of all, and one behind the last. */
  firstSlot: Int32Array;
  /** Slots that add their place to the context, by defined function. */
  pushes: Uint32Array;
  /** Bytes from the frame to its slot by call, 0 where there is none. */
  slotAt: Uint32Array;
  /** Call by slot. */
  callOfSlot: Int32Array;
}

/** `recordBytes`: what the records of each defined function take, a multiple of 8. */
export function frameShapes(
  module: WasmModule,
  calls: CallSites,
  plan: FramePlan,
  recordBytes: ArrayLike<number>,
): FrameShapes {
  const count = module.bodies.length;
  const shapes: FrameShapes = {
    recordBytes: new Uint32Array(count),
    firstSlot: new Int32Array(count + 1),
    pushes: new Uint32Array(count),
    slotAt: new Uint32Array(calls.length),
    callOfSlot: new Int32Array(calls.length),
  };
  let slots = 0;
  for (let defined = 0; defined < count; defined++) {
    const bytes = FRAME_HEADER_BYTES + Math.ceil(recordBytes[defined] / 8) * 8;
    shapes.recordBytes[defined] = bytes;
    shapes.firstSlot[defined] = slots;
    const give = (keeps: boolean): void => {
      for (let call = calls.firstOfFunction[defined]; call < calls.firstOfFunction[defined + 1]; call++) {
        const caller = defined + module.importedFunctionCount;
        const treatment = plan.treatment(caller, calls.callee[call], calls.isTail[call]);
        if (treatment === CallTreatment.None || (treatment === CallTreatment.Keep) !== keeps) continue;
        shapes.slotAt[call] = bytes + (slots - shapes.firstSlot[defined]) * SLOT_BYTES;
        shapes.callOfSlot[slots++] = call;
      }
    };
    give(false);
    shapes.pushes[defined] = slots - shapes.firstSlot[defined];
    give(true);
  }
  shapes.firstSlot[count] = slots;
  return shapes;
}

/** Size of a function's frame with its slots, bytes. */
export function frameBytes({ recordBytes, firstSlot }: FrameShapes, defined: number): number {
  return recordBytes[defined] + (firstSlot[defined + 1] - firstSlot[defined]) * SLOT_BYTES;
}
