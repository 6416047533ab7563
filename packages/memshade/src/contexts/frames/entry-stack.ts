import { ByteWriter } from "../../bytes/writer.ts";
import type { FollowedCalls } from "../../rewrite/write/entry-wrappers.ts";
import { opcodeId } from "../../wasm/index.ts";
import type { FrameTargets } from "./frame-snippets.ts";

/** The words that wrappers around entered functions keep: where the host stands, counted from the root's slot. */
export function entryStack({
  slotGlobal,
  hostWord,
  rootSlot,
}: FrameTargets): Omit<FollowedCalls, "shadowMemory"> {
  return {
    stackGlobal: slotGlobal,
    frames: { hostWord: constant(hostWord), emptyStack: constant(rootSlot) },
  };
}

function constant(value: number): Uint8Array {
  return new ByteWriter(8)
    .u8(opcodeId("i32.const"))
    .s32Leb(value | 0)
    .finish();
}
