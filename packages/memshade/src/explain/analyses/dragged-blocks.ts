import type { ContextTable, HeapProfile } from "../../profile/model/heap-profile.ts";
import { addDrag, type BlockDrag, NO_DRAG } from "../../profile/model/over-time/drag.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { withVariances } from "./host-stacks.ts";

/**
 * Blocks that spent most of their lives after their last access. Undefined where nobody followed blocks to it. Where a block that
 * was followed stands for several, the figures are estimates.
 */
export function draggedBlocks({ contexts, description }: HeapProfile): BlockMeasure | undefined {
  const { site, mibs, length } = contexts;
  if (site?.keptAfterUse === undefined || description.totals?.keptAfterUse === undefined) return undefined;
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  site.keptAfterUse.forEach((drag, context) => {
    if (drag === undefined || drag.blocks === 0) return;
    // Of all blocks the part that is late among those that were followed, which is exact where all were.
    blocks[context] = Math.round((mibs.allocCount[context]! * drag.lateBlocks) / drag.blocks);
    bytes[context] = Math.round((Number(mibs.totalSize[context]) * drag.lateBytes) / drag.bytes);
  });
  return blockMeasure(
    withVariances(blocks, variancesOf(contexts, mibs.allocCount, "Blocks")),
    withVariances(bytes, variancesOf(contexts, mibs.totalSize, "Bytes")),
  );
}

/** Of what is late among the followed blocks, for which all allocated ones are taken. */
function variancesOf(
  { site, variances, length }: ContextTable,
  allocated: ArrayLike<number | bigint>,
  what: "Blocks" | "Bytes",
): Float64Array {
  const late = variances?.[`keptAfterUse.late${what}`];
  return Float64Array.from({ length: late === undefined ? 0 : length }, (_, context) => {
    const drag = site!.keptAfterUse[context];
    const followed = drag?.[what === "Blocks" ? "blocks" : "bytes"] ?? 0;
    return followed === 0 ? 0 : late![context]! * (Number(allocated[context]) / followed) ** 2;
  });
}

/** Of some contexts together. */
export function dragOfContexts({ contexts }: HeapProfile, rows: readonly number[]): BlockDrag {
  return rows.reduce((sum, row) => addDrag(sum, contexts.site?.keptAfterUse?.[row] ?? NO_DRAG), NO_DRAG);
}

/** Part of the work during their lives, 0…1, at which late blocks were accessed last: large blocks and long lives count for more. */
export function lastUse({ lateUsedByteWork, lateByteWork }: BlockDrag): number {
  return lateByteWork === 0 ? 0 : lateUsedByteWork / lateByteWork;
}

/** The clock when late blocks were accessed last, on average: large blocks count for more. */
export function lastUseTime({ lateLastUse, lateBytes }: BlockDrag): number {
  return lateBytes === 0 ? 0 : lateLastUse / lateBytes;
}
