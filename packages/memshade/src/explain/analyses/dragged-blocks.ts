import type { ContextTable, HeapProfile } from "../../profile/model/heap-profile.ts";
import { addDrag, type BlockDrag, NO_DRAG } from "../../profile/model/over-time/drag.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { libraryKeeps } from "./frames/library-blocks.ts";
import { withVariances } from "./host-stacks.ts";

/**
 * Returns blocks of the program that spent most of their lives after their last access; undefined if blocks were not followed to it.
 * If a followed block represents several, the figures are estimates.
 */
export function draggedBlocks(profile: HeapProfile): BlockMeasure | undefined {
  const { contexts, description } = profile;
  const isKept = libraryKeeps(profile);
  const { site, mibs, length } = contexts;
  if (site?.keptAfterUse === undefined || description.totals?.keptAfterUse === undefined) return undefined;
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  site.keptAfterUse.forEach((drag, context) => {
    if (drag === undefined || drag.blocks === 0 || isKept(context)) return;
    // The late share of the followed blocks is applied to all blocks. The result is exact if all were followed.
    blocks[context] = Math.round((mibs.allocCount[context]! * drag.lateBlocks) / drag.blocks);
    bytes[context] = Math.round((Number(mibs.totalSize[context]) * drag.lateBytes) / drag.bytes);
  });
  return blockMeasure(
    withVariances(blocks, variancesOf(contexts, mibs.allocCount, "Blocks")),
    withVariances(bytes, variancesOf(contexts, mibs.totalSize, "Bytes")),
  );
}

/** Scales the variances of the late followed blocks to all allocated blocks. */
function variancesOf(
  { site, variances, length }: ContextTable,
  allocated: ArrayLike<number | bigint>,
  quantity: "Blocks" | "Bytes",
): Float64Array {
  const late = variances?.[`keptAfterUse.late${quantity}`];
  return Float64Array.from({ length: late === undefined ? 0 : length }, (_, context) => {
    const drag = site!.keptAfterUse[context];
    const followed = drag?.[quantity === "Blocks" ? "blocks" : "bytes"] ?? 0;
    return followed === 0 ? 0 : late![context]! * (Number(allocated[context]) / followed) ** 2;
  });
}

export function dragOfContexts({ contexts }: HeapProfile, rows: readonly number[]): BlockDrag {
  return rows.reduce((sum, row) => addDrag(sum, contexts.site?.keptAfterUse?.[row] ?? NO_DRAG), NO_DRAG);
}

/**
 * Returns the part of the work during the lives of late blocks, 0…1, that came before their last access. Large blocks
 * and long lives have more weight.
 */
export function lastUse({ lateUsedByteWork, lateByteWork }: BlockDrag): number {
  return lateByteWork === 0 ? 0 : lateUsedByteWork / lateByteWork;
}

/** Returns the mean clock of the last access to late blocks; large blocks have more weight. */
export function lastUseTime({ lateLastUse, lateBytes }: BlockDrag): number {
  return lateBytes === 0 ? 0 : lateLastUse / lateBytes;
}
