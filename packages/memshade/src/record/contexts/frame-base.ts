import * as Op from "../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../ground/bytes/writer.ts";
import type { SnippetSink } from "../rewrite/write/snippet-sink.ts";
import { STACK_FRAME_BYTES } from "./layout.ts";

/** An address: `offset` bytes behind what a global holds, or behind 0 where `global` is −1. */
export interface Place {
  global: number;
  offset: number;
}

/** Where the frames of an instance start from. */
export interface FrameBase {
  /** The host word in the shadow memory. */
  hostWord: Place;
  /** What the global with the newest frame holds when there is none; the host word counts from here. */
  emptyStack: Place;
}

/** The base of a stack at an address that is the same for all instances. */
export function fixedFrameBase({ stack, hostWord }: { stack: number; hostWord: number }): FrameBase {
  return {
    hostWord: { global: -1, offset: hostWord },
    emptyStack: { global: -1, offset: stack - STACK_FRAME_BYTES },
  };
}

/** Pushes the address. */
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

/** Code that pushes the address. */
export function placeCode({ global, offset }: Place): Uint8Array {
  const writer = new ByteWriter(16);
  if (global >= 0) writer.u8(Op.GLOBAL_GET).u32Leb(global);
  if (global < 0 || offset !== 0) writer.u8(Op.I32_CONST).s32Leb(offset | 0);
  if (global >= 0 && offset !== 0) writer.u8(Op.I32_ADD);
  return writer.finish();
}
