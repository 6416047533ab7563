import { formatBytes, formatPercent } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../profile/model/indices.ts";
import { ACCESSES_PER_BLOCK } from "../../profile/model/over-time/drag.ts";
import { liveBytesOf } from "../../profile/model/over-time/heap-intervals.ts";
import { dragOfContexts } from "../analyses/dragged-blocks.ts";
import { groupContexts, sumOf } from "../analyses/groups.ts";
import { rowsOfContexts } from "../analyses/over-time.ts";
import { byCaller } from "./by-caller.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { accessesOf, inModule } from "./heap-blocks.ts";
import { callerPlace, heapPlace } from "./places.ts";

/**
 * A site that makes more than a quarter of the peak for a short part of the run. The amount is the possible
 * reduction of the peak.
 */
export interface PeakFinding extends Found<"peak", "heap"> {
  /** Bytes of the peak, all sites together. */
  readonly peak: number;
  /** Part of the program's work, 0…1, during which the site holds its blocks of the peak. */
  readonly held: number;
}

/** Least part of the peak. A copy of all other data is half of it, a copy of half of them a third. */
const LEAST_OF_PEAK = 1 / 4;
/** Least part of the other work, and of all work if the blocks are made again, that is done without the site's blocks. */
const MOST = 1 / 2;
/** Least part of all work that is done without blocks that are made once. */
const LEAST_WITHOUT = 1 / 3;
/** Page size of WebAssembly memory: a smaller reduction saves nothing. */
const PAGE_BYTES = 65_536;

export const peak: FindingKind<PeakFinding> = {
  kind: "peak",
  meaning:
    "The largest number of bytes that were live at one time, and that time. A finding: one allocation site makes more than a quarter of the peak, " +
    "and the program does more than half of its other work while these blocks do not exist.",
  advice: "Work in parts or in place, so that fewer of these blocks are live at once.",
  more: "concepts.md#how-much",
  sources: ["heap"],
  find: inModule(peakFindings),
  leastPart: LEAST_PART,
  ofBlocks: { after: "cold" },
  sentence: ({ peak, held }) => ({
    before: `of the peak (${formatBytes(peak)}) are allocated in`,
    after: `and live for ${formatPercent(held, 1)} of the run`,
    short: "of the peak by",
    shortAfter: `for ${formatPercent(held, 1)} of the run`,
  }),
  whole: { short: "of the peak", long: "of the bytes at the peak, times the part of the run without them" },
  weight: "peak",
  treeWeights: ["peak", "bytes"],
};

/**
 * Finds sites that make more than a quarter of the peak for a part of the run. The other work is all work that
 * does not access the site's blocks; more than half of it must be done while the blocks do not exist. Work is
 * counted in memory accesses, because the clock of allocations stands still while a program computes. The
 * saving is at least a quarter of the peak for half of the run.
 *
 *         ┌──┐ peak          100 accesses, 38 of them to the site's blocks, which exist for 40:
 *         │▒▒│               of the other 62, 2 are made meanwhile
 *     ────┴──┴──────────
 *
 * The amount is the possible reduction of the peak. The part is the amount's share of the peak, times the
 * share of the run without the blocks.
 */
function peakFindings(profile: HeapProfile): PeakFinding[] {
  return groupContexts(profile, "site").contexts.flatMap((contexts) => {
    // A function that makes blocks for several callers makes the peak for one of them.
    const callers = byCaller(profile, contexts);
    const ofCallers =
      callers.length < 2
        ? []
        : callers.flatMap(({ contexts, stacks }) => {
            const most = highest(profile, contexts);
            const caller = stacks[contexts.indexOf(most)]!;
            return caller === NONE ? [] : peakOf(profile, contexts, callerPlace(profile, most, caller));
          });
    return ofCallers.length > 0
      ? ofCallers
      : peakOf(profile, contexts, heapPlace(profile, highest(profile, contexts)));
  });
}

/** Returns the context with most bytes at the peak. */
function highest(
  { contexts: { site } }: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
): IndexIntoContextTable {
  return contexts.reduce((a, b) => ((site?.peakBytes[b] ?? 0) > (site?.peakBytes[a] ?? 0) ? b : a));
}

function peakOf(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  place: FindingPlace | undefined,
): PeakFinding[] {
  const { totals } = profile.description;
  const { site, mibs } = profile.contexts;
  const peak = totals?.peakBytes ?? 0;
  if (place === undefined || site === undefined || totals?.keptAfterUse === undefined) return [];
  const atPeak = sumOf(site.peakBytes, contexts);
  const least = Math.max(PAGE_BYTES, LEAST_OF_PEAK * peak);
  // Cheap test first: few sites reach the sums over all contexts below.
  if (atPeak < least) return [];
  const work = accessesOf(profile);
  if (work === undefined) return [];
  // A growing table or list keeps its data; its growth is another kind of finding.
  const copied = contexts.reduce((sum, row) => sum + (site.growth[row]?.copiedBytes ?? 0), 0);
  if (2 * copied >= atPeak) return [];
  // Blocks that stay until the end are no temporary peak.
  if (2 * sumOf(site.liveBytes, contexts) > atPeak) return [];
  const amount = peak - Math.max(peak - atPeak, mostOfOthers(profile, contexts));
  const { byteWork, bytes } = dragOfContexts(profile, contexts);
  if (amount < least || bytes === 0) return [];
  // Blocks without accesses are assumed to live as long as the others.
  const rounds = sumOf(mibs.totalSize, contexts) / atPeak;
  const meanwhile = Math.min(work, (byteWork / bytes) * rounds);
  const without = work - meanwhile;
  // Blocks that are there for most of the run are its main data. Blocks of one round are made before their use, and freed after it.
  if (without < (rounds >= 2 ? MOST : LEAST_WITHOUT) * work) return [];
  const part = (amount / peak) * (without / work);
  // A program's main data, used by most of its work, is not reported. Their allocation is work for them, too.
  const making = sumOf(mibs.allocCount, contexts) * ACCESSES_PER_BLOCK;
  const others = work - making - sumOf(mibs.totalAccessCount, contexts);
  if (part < LEAST_OF_PEAK * MOST || without - making < MOST * others) return [];
  return [{ kind: "peak", tool: "heap", place, amount, unit: "bytes", part, peak, held: meanwhile / work }];
}

/**
 * Returns the most bytes of all other blocks in any interval except that of the peak; 0 if the heap over time
 * is unknown.
 */
function mostOfOthers(profile: HeapProfile, contexts: readonly IndexIntoContextTable[]): number {
  const [instance, ...more] = profile.overTime?.instances ?? [];
  if (instance === undefined || more.length > 0) return 0;
  const { maxBytes } = instance.intervals;
  const peak = maxBytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  const rows = rowsOfContexts(profile);
  const chosen = new Set(contexts);
  const own = instance.contexts
    .filter(({ stackId }) => chosen.has(rows.get(stackId)!))
    .map((context) => liveBytesOf(context, maxBytes.length));
  const live = maxBytes.map((_, i) => own.reduce((sum, bytes) => sum + bytes[i]!, 0));
  // Bytes that the contexts have at both ends of an interval are assumed to exist throughout it.
  return maxBytes.reduce(
    (most, bytes, i) =>
      bytes === peak ? most : Math.max(most, bytes - Math.min(live[i - 1] ?? 0, live[i]!)),
    0,
  );
}
