import type { BlockCapacity, BlockGrowth } from "../../../../profile/model/growth.ts";
import { Growth } from "../layout.ts";

/** What a context's ended blocks say of growth and capacity: its entry of the table in a shadow memory, at byte `at`. */
export function readGrowth(view: DataView, at: number): { growth: BlockGrowth; capacity: BlockCapacity } {
  const u32 = (field: number): number => view.getUint32(at + field, true);
  const u64 = (field: number): number => Number(view.getBigUint64(at + field, true));
  const steps = u32(Growth.steps);
  return {
    growth: {
      chains: u32(Growth.chains),
      copies: u32(Growth.copies),
      copiedBytes: u64(Growth.copiedBytes),
      mostCopies: u32(Growth.mostCopies),
      finalBytes: u64(Growth.finalBytes),
      usedBytes: u64(Growth.usedBytes),
      largestFinal: u32(Growth.largestFinal),
      ...(steps > 0 && {
        steppedChains: u32(Growth.steppedChains),
        steps,
        steppedBytes: u64(Growth.steppedBytes),
      }),
    },
    capacity: {
      blocks: u32(Growth.endedBlocks),
      bytes: u64(Growth.endedBytes),
      unusedBytes: u64(Growth.unusedBytes),
    },
  };
}
