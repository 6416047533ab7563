import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { isOfNativeProgram, knowsField, siteColumn } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { liveBlocksOf } from "./live-blocks.ts";
import type { RecordedTools } from "./recorded-tools.ts";

/** Smallest number of blocks that were more than half of the heap at its peak. */
interface DominantBlocks {
  readonly blocks: number;
  readonly bytes: number;
  readonly peakBlocks: number;
  readonly peakBytes: number;
}

/**
 * Finds the dominant blocks. Blocks of one context count with their mean size. Undefined if the profile does not know
 * its peak, or it is 0.
 */
export function dominantBlocks(profile: HeapProfile): DominantBlocks | undefined {
  const { contexts } = profile;
  const [allBlocks, allBytes] = [siteColumn(profile, "peakBlocks"), siteColumn(profile, "peakBytes")];
  if (allBlocks === undefined || allBytes === undefined) return undefined;
  const groups = Array.from({ length: contexts.length }, (_, row) => ({
    blocks: allBlocks[row],
    size: allBytes[row] / allBlocks[row],
  })).filter(({ blocks }) => blocks > 0);
  const peakBytes = groups.reduce((sum, { blocks, size }) => sum + blocks * size, 0);
  const peakBlocks = groups.reduce((sum, { blocks }) => sum + blocks, 0);
  groups.sort((a, b) => b.size - a.size);
  const found = { blocks: 0, bytes: 0 };
  for (const { blocks, size } of groups) {
    const missing = Math.floor((peakBytes / 2 - found.bytes) / size) + 1;
    const taken = Math.min(blocks, missing);
    found.blocks += taken;
    found.bytes += taken * size;
    if (taken < blocks || found.bytes > peakBytes / 2) return { ...found, peakBlocks, peakBytes };
  }
  return undefined;
}

interface FollowedModule {
  readonly allocator?: { readonly how: string; readonly refused?: string | undefined } | undefined;
}

/**
 * Returns true if blocks were recorded. If a run's modules have code but no recognized allocator, nothing is known, not
 * even 0.
 */
export function areBlocksSeen(modules: readonly FollowedModule[]): boolean {
  const allocators = modules.flatMap(({ allocator }) => allocator ?? []);
  return allocators.length === 0 || allocators.some((allocator) => !isGivenUp(allocator));
}

function isGivenUp({ how, refused }: { how: string; refused?: string | undefined }): boolean {
  return how === "none" || refused !== undefined;
}

/** Returns the reason why a run with a heap tool has no heap figures; undefined if it has them. */
export function whyHeapUnknown({ heap }: RecordedTools): string | undefined {
  if (heap === undefined || areBlocksSeen(heap.modules)) return undefined;
  const { notTracked } = heap.description;
  return `no allocator was found, so the heap was not recorded. ${notTracked.join(" ")}`.trim();
}

/** Returns the reason why a recorded heap does not know its lost blocks; undefined if it does. */
export function whyLostUnknown(heap: HeapProfile): string | undefined {
  if (heap.description.recordedBy === undefined || liveBlocksOf(heap, "definite") !== undefined)
    return undefined;
  const sentence = reachSentence(heap);
  if (sentence === undefined && isOfNativeProgram(heap))
    return "the memory was not searched for pointers to blocks";
  return `the memory could not be searched for pointers to blocks. ${sentence ?? heap.description.notTracked.join(" ")}`.trim();
}

export function reachSentence({ description: { notTracked } }: HeapProfile): string | undefined {
  return notTracked.find((sentence) => OF_REACH.test(sentence));
}

const OF_REACH = /^Whether .* lost or still reachable | counted as possibly lost because /;

/** Returns true if a profile records which blocks were read and written. */
export function isUseKnown(profile: HeapProfile): boolean {
  const isCounted = knowsField(profile, "totalAccessCount") && knowsField(profile, "maxAccessCount");
  return isCounted || profile.contexts.site?.readBytes !== undefined;
}

/**
 * Returns blocks that were live at the end of the run. Undefined if the profile does not know: a MIB does not
 * distinguish a freed block from one that was live when the profile was written.
 */
export function leaks(profile: HeapProfile): BlockMeasure | undefined {
  return measureOf(siteColumn(profile, "liveBlocks"), siteColumn(profile, "liveBytes"));
}

/** Returns blocks that were live at the peak of the whole heap; undefined if the profile does not know. */
export function liveAtPeak(profile: HeapProfile): BlockMeasure | undefined {
  return measureOf(siteColumn(profile, "peakBlocks"), siteColumn(profile, "peakBytes"));
}

function measureOf(
  blocks: Float64Array | undefined,
  bytes: Float64Array | undefined,
): BlockMeasure | undefined {
  if (bytes === undefined || blocks !== undefined) return bytes && blockMeasure(blocks!, bytes);
  return { ...blockMeasure(new Float64Array(bytes.length), bytes), lacksBlocks: true };
}
