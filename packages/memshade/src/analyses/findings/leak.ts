import type { HeapProfile, SiteColumns, SiteField } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { blockMeasure } from "../block-measure.ts";
import { isCollected } from "../collected.ts";
import { dragOfContexts } from "../dragged-blocks.ts";
import { libraryOf, START_UP } from "../frames/libraries.ts";
import { leaks } from "../heap/leaks.ts";
import { reachOf } from "../live-blocks.ts";
import { heapTotals } from "../totals.ts";
import type { LeakFinding } from "./finding.ts";
import { blocksByOwner, blocksBySite, LEAST_BYTES, type SiteBlocks } from "./heap-blocks.ts";
import { accessesOf } from "./work.ts";

/**
 * A host keeps some addresses for good: of the tables that it makes at the start, of an object that it goes on using. A program keeps
 * tables and caches. So many blocks of one place, allocated all through the run, they do not.
 */
const MANY_BLOCKS = 10;
/** Blocks that are allocated all through a run are allocated in its second half as often as in its first; some less will do. */
const LEAST_LATE = 1 / 4;
/**
 * What an object of the host's has inside, and had for most of the run's work, it needs. By work fewer will do: what an object does often
 * takes the longer the more it has.
 */
const LEAST_LATE_BY_WORK = LEAST_LATE / 2;
/** Of a collection that only grows, so much is never released. */
const MOST = 9 / 10;
/** And so much is not used when the program ends. */
const LEAST_IDLE = 1 / 2;
/** A program that has gone on for long after its last allocation has what it needs. */
const MOST_AFTER = 1 / 4;

/** Places of which blocks are lost; where that is not known, places of which several were live at the end. */
export function leakFindings(profile: HeapProfile): LeakFinding[] {
  const { site } = profile.contexts;
  const { peakBytes = 0, peakBlocks = 0 } = profile.description.totals ?? {};
  if (site === undefined || peakBytes === 0 || peakBlocks === 0) return [];
  const reach = reachOf(profile);
  const found = reach === undefined ? liveFindings(profile, site) : lostFindings(profile, site, reach);
  return found.map((finding) => ({
    kind: "leak",
    tool: "heap",
    unit: "bytes",
    // What is leaked in small blocks is in the way as so many blocks.
    part: Math.max(finding.amount / peakBytes, finding.blocks / peakBlocks),
    ...finding,
  }));
}

type LeakFacts = Omit<LeakFinding, "kind" | "tool" | "unit" | "part">;

/** What a program has one of may live as long as the program; and one that was stopped might have released all. */
function liveFindings(profile: HeapProfile, { suppressedBlocks }: SiteColumns): LeakFacts[] {
  const { end, importedFrom } = profile.description;
  // Other tools do not say how a program ended, but they write when it has.
  const hasEnded = importedFrom === undefined ? end?.kind === "exit" : end === undefined;
  const live = leaks(profile);
  if (!hasEnded || live === undefined) return [];
  const isTold = (_: number, context: number) => (suppressedBlocks?.[context] ?? 0) === 0;
  const keep = (values: Float64Array) => values.map((value, context) => (isTold(value, context) ? value : 0));
  const collected = isCollected(profile);
  return blocksBySite(profile, blockMeasure(keep(live.blocks), keep(live.bytes)))
    .filter((found) =>
      // What a collector has not come to yet is no leak; what lives after it came by for most is.
      collected
        ? found.blocks >= MANY_BLOCKS && found.blocks >= found.allocated * MOST && isGoingOn(profile, found)
        : found.blocks >= MANY_BLOCKS || (found.blocks > 1 && found.bytes >= LEAST_BYTES),
    )
    .map(({ place, blocks, bytes, allocated }) => ({
      place,
      amount: bytes,
      blocks,
      allocated,
      state: "live",
      behind: 0,
    }));
}

/**
 * Whether a place may be one that goes on allocating to the end, without a use for most of what it has. If a part of its blocks is
 * allocated in the second half of a run, they live for half of it at most and the others for all of it. A run is as long as its work: the
 * clock of allocations stands still while a program computes.
 */
function isGoingOn(profile: HeapProfile, { contexts, allocated }: SiteBlocks): boolean {
  if (profile.description.clock.kind !== "virtual") return true;
  const most = 1 - LEAST_LATE / 2;
  const work = accessesOf(profile);
  const { blocks, bytes, byteWork, lateBlocks } = dragOfContexts(profile, contexts);
  if (work !== undefined && blocks > 0)
    return byteWork <= bytes * work * most && lateBlocks >= blocks * LEAST_IDLE;
  const { totalLifetime } = profile.contexts.mibs;
  const lived = contexts.reduce((sum, context) => sum + Number(totalLifetime[context]!), 0);
  return lived <= allocated * heapTotals(profile).allocations * most;
}

function lostFindings(
  profile: HeapProfile,
  site: SiteColumns,
  { hostMayHold }: { readonly hostMayHold: boolean },
): LeakFacts[] {
  return blocksByOwner(profile, blockMeasure(site.liveBlocks, site.liveBytes)).flatMap(
    (found): LeakFacts[] => {
      const sum = (field: SiteField): number =>
        found.contexts.reduce((total, context: IndexIntoContextTable) => total + site[field][context]!, 0);
      const { allocated } = found;
      const place = { place: found.place, allocated };
      const lost = sum("lostBlocks");
      const blocks = lost + sum("indirectlyLostBlocks");
      const bytes = sum("lostBytes") + sum("indirectlyLostBytes");
      if (hostMayHold) {
        // Whatever only the host has the address of, there may be others that lead inside it.
        const left = blocks + sum("possiblyLostBlocks");
        const amount = bytes + sum("possiblyLostBytes");
        const late = sum("lateLostBlocks");
        if (isRepeated(left, late) && late - sum("settledLostBlocks") >= left * LEAST_LATE_BY_WORK)
          return [{ ...place, amount, blocks: left, state: "host", behind: 0 }];
      } else if (lost > 0 && !isOfMain(found)) {
        const all = sum("lostBytes") + sum("behindLostBytes");
        const behind = Math.max(0, lost + sum("behindLostBlocks") - blocks);
        return [{ ...place, amount: Math.max(all, bytes), blocks, state: "lost", behind }];
      }
      const growing = growthOf(profile, found, sum);
      return growing === undefined ? [] : [{ ...place, ...growing, state: "growing", behind: 0 }];
    },
  );
}

/**
 * What can be reached of a place that only allocates, to the end of the program's work, and of which most is not used then. What was
 * built before and asked a few times is none, whatever of it was not asked for.
 */
function growthOf(
  profile: HeapProfile,
  { allocated }: SiteBlocks,
  sum: (field: SiteField) => number,
): { amount: number; blocks: number } | undefined {
  const blocks = sum("stillReachableBlocks");
  if (blocks < allocated * MOST || !isRepeated(blocks, sum("lateReachableBlocks"))) return undefined;
  const { heapAccesses } = heapTotals(profile);
  const after = reachOf(profile)?.accessesAfter;
  const all = heapAccesses + (profile.description.totals?.otherAccesses ?? 0);
  if (after === undefined || after > all * MOST_AFTER) return undefined;
  if (sum("idleReachableBlocks") < blocks * LEAST_IDLE) return undefined;
  if (2 * sum("doneReachableBlocks") >= blocks) return undefined;
  return { amount: sum("stillReachableBytes"), blocks };
}

function isRepeated(blocks: number, late: number): boolean {
  return blocks >= MANY_BLOCKS && late >= blocks * LEAST_LATE;
}

/** The function that a program starts with runs once, and what it allocates once may live until it ends. */
function isOfMain({ place, allocated }: SiteBlocks): boolean {
  return (
    allocated === 1 &&
    place.path.slice(1).every((frame) => libraryOf({ function: frame.function }) === START_UP)
  );
}
