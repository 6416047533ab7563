import { isCollected } from "../../profile/model/collected-objects.ts";
import { agreeing } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type BlockMeasure, blockMeasure } from "../analyses/block-measure.ts";
import { draggedBlocks, dragOfContexts, lastUse, lastUseTime } from "../analyses/dragged-blocks.ts";
import { sumOf } from "../analyses/groups.ts";
import { heapPhases } from "../analyses/over-time.ts";
import { writtenNeverRead } from "../analyses/unused-blocks.ts";
import { soonCollected } from "./churn.ts";
import { type FindingKind, type Found, LEAST_PART } from "./finding-kind.ts";
import { blocksBySite, blocksSentence, LEAST_BYTES, type SiteBlocks } from "./heap-blocks.ts";

/** Blocks that spend most of their lives after their last access. */
export interface DragFinding extends Found<"drag", "heap"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** All blocks that the site allocated. */
  readonly allocated: number;
  /** Time of the last access as a part of their lives, 0…1. */
  readonly lastUse: number;
  /** True if not all blocks were followed to their last access, so that blocks and bytes are estimates. */
  readonly isEstimate: boolean;
  /** Function of the phase with the last access; undefined if phases or their names are unknown. */
  readonly during: string | undefined;
}

export const drag: FindingKind<DragFinding> = {
  kind: "drag",
  also: ["kept too long"],
  meaning:
    "The time between the last access to a block and its release. The block is no longer needed, but still takes memory.",
  advice: "Release the blocks right after their last use.",
  more: "concepts.md#drag",
  sources: ["use"],
  find: ({ heap }) => (heap === undefined ? [] : dragFindings(heap)),
  leastPart: LEAST_PART,
  ofBlocks: { after: "write-only" },
  sums: ["blocks", "allocated"],
  sentence: (finding) => {
    const idle = `idle for the last ${Math.floor(100 * (1 - finding.lastUse))} %`;
    return blocksSentence(finding, `${idle} of ${agreeing(finding.blocks, "its life", "their life")}`, idle);
  },
  whole: {
    short: "of bytes × work",
    long: "of all bytes times the work during which they are there: what comes after the last access",
  },
  weight: "dragged",
  treeWeights: ["dragged", "peak", "bytes"],
};

/**
 * Finds sites most of whose bytes live long after their last access. The finding's part is the share of the
 * program's bytes × work that would be saved if these blocks ended with their last access.
 */
function dragFindings(profile: HeapProfile): DragFinding[] {
  const dragged = draggedBlocks(profile);
  const totalByteWork = profile.description.totals?.keptAfterUse?.byteWork ?? 0;
  if (dragged === undefined || totalByteWork === 0) return [];
  const found = isCollected(profile) ? withoutGarbage(profile, dragged) : dragged;
  const allocated = Array.from(profile.contexts.mibs.totalSize, Number);
  const sites = blocksBySite(profile, found).filter(
    (found) =>
      found.bytes >= LEAST_BYTES &&
      // Tables normally have some entries that are no longer used.
      2 * found.bytes >= sumOf(allocated, found.contexts) &&
      (profile.description.knownHost === true ||
        found.place.path[0]!.address !== undefined ||
        isForModule(profile, found)),
  );
  return sites.map(({ place, contexts, blocks, bytes, allocated }) => {
    const drag = dragOfContexts(profile, contexts);
    return {
      kind: "drag",
      tool: "heap",
      place,
      amount: bytes,
      unit: "bytes",
      part: (drag.lateByteWork - drag.lateUsedByteWork) / totalByteWork,
      blocks,
      allocated,
      lastUse: lastUse(drag),
      isEstimate: drag.lateFollowed < drag.lateBlocks,
      during: phaseAt(profile, lastUseTime(drag)),
    };
  });
}

/** Leaves out short-lived objects of a collector: they are idle because the collector has not run yet. */
function withoutGarbage(profile: HeapProfile, { blocks, bytes }: BlockMeasure): BlockMeasure {
  const garbage = soonCollected(profile).blocks;
  const keep = (count: number, context: number): number => (garbage[context]! > 0 ? 0 : count);
  return blockMeasure(blocks.map(keep), bytes.map(keep));
}

/**
 * True if blocks requested by a host with unknown accesses are used by the module: most are freed in the end,
 * and their content is read by the module itself.
 */
function isForModule(profile: HeapProfile, found: SiteBlocks): boolean {
  const live = profile.contexts.site?.liveBlocks;
  const unread = writtenNeverRead(profile)?.blocks;
  if (live === undefined || unread === undefined) return false;
  return 2 * sumOf(live, found.contexts) < found.blocks && 2 * sumOf(unread, found.contexts) < found.blocks;
}

/**
 * Returns the function of the phase at a time of the clock; undefined if there is only one phase, or if there
 * are several instances.
 */
function phaseAt(profile: HeapProfile, time: number): string | undefined {
  const instances = profile.overTime?.instances ?? [];
  if (instances.length !== 1 || profile.description.clock.unit !== "allocations") return undefined;
  const { phases } = heapPhases(profile, instances[0]!);
  if (phases.length < 2) return undefined;
  return phases.find(({ start, end }) => start <= time && time <= end)?.name;
}
