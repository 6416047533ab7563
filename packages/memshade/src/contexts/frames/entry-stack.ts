import type { FollowedCalls } from "../entry-wrappers.ts";
import type { FrameTargets } from "./frame-snippets.ts";

/** The words that wrappers around entered functions keep: where the host stands, counted from the root's slot. */
export function entryStack({
  slotGlobal,
  hostWord,
  rootSlot,
}: FrameTargets): Omit<FollowedCalls, "shadowMemory"> {
  return {
    stackGlobal: slotGlobal,
    frames: {
      hostWord: { global: -1, offset: hostWord },
      emptyStack: { global: -1, offset: rootSlot },
    },
  };
}
