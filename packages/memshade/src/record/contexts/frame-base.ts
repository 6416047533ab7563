import * as Op from "../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../ground/bytes/writer.ts";
import type { SnippetSink } from "../rewrite/write/snippet-sink.ts";
import { STACK_FRAME_BYTES } from "./layout.ts";

/** An address: `offset` bytes after the value of a global, or after 0 if `global` is −1. */
export interface Place {
  global: number;
  offset: number;
}

export interface FrameBase {
  /** The host word in the shadow memory. */
  hostWord: Place;
  /** Value of the stack global without frames. The host word counts from here. */
  emptyStack: Place;
}

/** Returns the base of a stack at an address that is the same for all instances. */
export function fixedFrameBase({ stack, hostWord }: { stack: number; hostWord: number }): FrameBase {
  return {
    hostWord: { global: -1, offset: hostWord },
    emptyStack: { global: -1, offset: stack - STACK_FRAME_BYTES },
  };
}

export function pushPlace(sink: SnippetSink, { global, offset }: Place): void {
  if (global < 0) {
    sink.i32(offset);
    return;
  }
  sink.indexed(Op.GLOBAL_GET, global);
  if (offset === 0) return;
  sink.i32(offset);
  sink.plain(Op.I32_ADD);
}

export function placeCode({ global, offset }: Place): Uint8Array {
  const writer = new ByteWriter(16);
  if (global >= 0) writer.u8(Op.GLOBAL_GET).u32Leb(global);
  if (global < 0 || offset !== 0) writer.u8(Op.I32_CONST).s32Leb(offset | 0);
  if (global >= 0 && offset !== 0) writer.u8(Op.I32_ADD);
  return writer.finish();
}
