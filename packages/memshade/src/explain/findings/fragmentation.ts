import { counted } from "../../profile/model/counted.ts";
import { formatBytes } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { groupContexts, sumOf } from "../analyses/groups.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { inModule } from "./heap-blocks.ts";
import { heapPlace } from "./places.ts";

/**
 * Free memory that cannot be used otherwise because of live blocks between. The location has most of these
 * blocks; the amount is the free memory.
 */
export interface FragmentationFinding extends Found<"fragmentation", "heap"> {
  /** Live blocks of the site: of a native program at its end, of a module at the peak. */
  readonly blocks: number;
  /** Resident bytes of the process, or bytes from a module's lowest block to its highest. */
  readonly resident: number;
  readonly at: "end" | "peak";
}

/** A process has some MiB resident for its libraries alone: smaller amounts are not noticeable. */
const LEAST_BYTES = 4 * 2 ** 20;
/** The same for a module, whose stack and data often take as much. */
const LEAST_OF_MODULE = 2 ** 20;
/** Least part of the resident memory: above it, fragmentation dominates the size of the process. */
const LEAST_OF_RESIDENT = 1 / 2;
/** The same for a module. A block that doubles leaves a quarter of the memory free: blocks that were too small for it. */
const LEAST_OF_SPAN = 1 / 3;
/** Most bytes that an allocator of modules adds to a block, for its header and for alignment. */
const MOST_HEADER = 24;
/**
 * Every program keeps a few blocks, such as the buffer of stdout. A program that frees everything else must
 * not be reported for them: so few blocks hold the end of the heap but fragment nothing.
 */
const LEAST_BLOCKS = 16;

export const fragmentation: FindingKind<FragmentationFinding> = {
  kind: "fragmentation",
  meaning:
    "Free memory that larger blocks cannot use and the system does not get back, because live blocks lie between the free ones. The memory is far " +
    "larger than its blocks. No block is lost, and new blocks of these sizes reuse it.",
  advice: "Allocate long-lived blocks first or in a pool of their own.",
  more: "native-programs.md#what-the-process-has-beside-its-blocks",
  sources: ["heap"],
  find: inModule((profile) => [...inProcess(profile), ...inMemory(profile)]),
  leastPart: LEAST_PART,
  sentence: ({ blocks, at, resident }) => ({
    before:
      at === "end"
        ? `of free memory cannot be returned to the system: ${counted(blocks, "live block", "live blocks")} of`
        : `of the heap's ${formatBytes(resident)} are free even at the peak: ${counted(blocks, "live block", "live blocks")} of`,
    after: "lie in between",
    short: "free between blocks of",
    shortAfter: "",
  }),
  whole: {
    short: "of memory",
    long: "of what the process has resident at its end, or of a module's memory from its lowest block to its highest",
  },
  weight: "peak",
  treeWeights: ["peak", "left", "bytes"],
};

/** Finds memory that a native allocator cannot return to the system. */
function inProcess(profile: HeapProfile): FragmentationFinding[] {
  const { presence, totals } = profile.description;
  const { residentBytes: resident = 0, allocator } = presence?.memory ?? {};
  const liveBlocks = profile.contexts.site?.liveBlocks;
  if (allocator === undefined || liveBlocks === undefined || totals?.liveBytes === undefined) return [];
  // The allocator returns the end of the heap by itself, and memory that is not resident has been returned.
  const amount = Math.min(allocator.freeBytes - allocator.topBytes, resident - totals.liveBytes);
  if (amount < LEAST_BYTES || amount < LEAST_OF_RESIDENT * resident) return [];
  const advice = `${fragmentation.advice} malloc_trim(0) returns whole free pages to the system.`;
  return found(profile, liveBlocks, liveBlocks, { amount, resident, at: "end", advice });
}

/**
 * Finds memory of a module that is free at the peak. A memory never shrinks, so it was too fragmented for the blocks
 * that made it grow.
 */
function inMemory(profile: HeapProfile): FragmentationFinding[] {
  const { totals } = profile.description;
  const { spanBytes = 0, peakBytes = 0, peakBlocks = 0, overflow } = totals ?? {};
  const blocksAtPeak = profile.contexts.site?.peakBlocks;
  if (blocksAtPeak === undefined || (overflow?.blocks ?? 0) > 0) return [];
  const amount = spanBytes - peakBytes - peakBlocks * MOST_HEADER;
  if (amount < LEAST_OF_MODULE || amount < LEAST_OF_SPAN * spanBytes) return [];
  // Blocks in between are those that stay, while the memory grows for others.
  const lived = Float64Array.from(profile.contexts.mibs.totalLifetime, Number);
  return found(profile, lived, blocksAtPeak, { amount, resident: spanBytes, at: "peak" });
}

/** @param weights the place is the one with the largest sum of these */
function found(
  profile: HeapProfile,
  weights: Float64Array,
  liveBlocks: Float64Array,
  facts: Pick<FragmentationFinding, "amount" | "resident" | "at" | "advice">,
): FragmentationFinding[] {
  const most = placeWithMost(profile, weights);
  const blocks = most === undefined ? 0 : sumOf(liveBlocks, most.contexts);
  if (most === undefined || blocks < LEAST_BLOCKS) return [];
  const part = facts.amount / facts.resident;
  return [{ kind: "fragmentation", tool: "heap", unit: "bytes", place: most.place, blocks, part, ...facts }];
}

function placeWithMost(
  profile: HeapProfile,
  weights: Float64Array,
): { place: FindingPlace; contexts: readonly IndexIntoContextTable[] } | undefined {
  const sites = groupContexts(profile, "site").contexts.map((contexts) => ({
    contexts,
    weight: sumOf(weights, contexts),
    context: contexts.reduce((a, b) => (weights[b]! > weights[a]! ? b : a)),
  }));
  for (const { contexts, context } of sites.sort((a, b) => b.weight - a.weight)) {
    const place = heapPlace(profile, context);
    if (place !== undefined) return { place, contexts };
  }
  return undefined;
}
