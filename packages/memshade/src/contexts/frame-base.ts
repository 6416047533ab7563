import { ByteWriter } from "../bytes/writer.ts";
import type { ShadowLayout } from "../tools/options.ts";
import * as Op from "../wasm/op.generated.ts";

/** A frame of the shadow stack: the call site, and a memo of its place in the tree of contexts. */
export const FRAME_BYTES = 8;

/**
 * Two words below the stack, at the address of the host word, both counted in bytes from the empty stack.
 *
 * - The host word: the newest frame at a call that has left a function for the host, or may have, through a table or a
 *   reference.
 * - The entry word: where the host is when it has control, which is where what it calls goes on.
 *
 * While the module's own code runs, both are what they were when the host called it. So they are right whatever ends
 * that call, a trap included; calls out of the module set them for their duration.
 */
export const HOST_WORD = 0;
export const ENTRY_WORD = 4;

/** Code that pushes what the frames of an instance start from. */
export interface FrameBase {
  /** Address of the host word in the shadow memory. */
  hostWord: Uint8Array;
  /** What the global with the newest frame holds when there is none; the host word counts from here. */
  emptyStack: Uint8Array;
}

/** The base of a stack at an address that is the same for all instances. */
export function fixedFrameBase({ stack, hostWord }: Pick<ShadowLayout, "stack" | "hostWord">): FrameBase {
  return { hostWord: constant(hostWord), emptyStack: constant(stack - FRAME_BYTES) };
}

function constant(value: number): Uint8Array {
  return new ByteWriter(8)
    .u8(Op.I32_CONST)
    .s32Leb(value | 0)
    .finish();
}
