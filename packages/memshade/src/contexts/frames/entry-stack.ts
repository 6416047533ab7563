import { ByteWriter } from "../../bytes/writer.ts";
import type { FollowedCalls } from "../../rewrite/write/entry-wrappers.ts";
import * as Op from "../../wasm/op.generated.ts";
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
    .u8(Op.I32_CONST)
    .s32Leb(value | 0)
    .finish();
}
