import { counted } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { groupContexts, sumOf } from "../analyses/groups.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { inModule } from "./heap-blocks.ts";
import { heapPlace } from "./places.ts";

/**
 * Memory of a native program that its allocator cannot return because of live blocks between. The location
 * has most of these blocks; the amount is the retained memory.
 */
export interface FragmentationFinding extends Found<"fragmentation", "heap"> {
  /** Live blocks of the site. */
  readonly blocks: number;
  /** Resident bytes of the process. */
  readonly resident: number;
}

/** A process has some MiB resident for its libraries alone: smaller amounts are not noticeable. */
const LEAST_BYTES = 4 * 2 ** 20;
/** Least part of the resident memory: above it, fragmentation dominates the size of the process. */
const MOST = 1 / 2;
/**
 * Every program keeps a few blocks, such as the buffer of stdout. A program that frees everything else must
 * not be reported for them: so few blocks hold the end of the heap but fragment nothing.
 */
const LEAST_BLOCKS = 16;

export const fragmentation: FindingKind<FragmentationFinding> = {
  kind: "fragmentation",
  meaning:
    "Free memory that a native allocator cannot return to the system, because live blocks lie between the free ones. The process is far " +
    "larger than its blocks. No block is lost, and new blocks of these sizes reuse the memory.",
  advice:
    "Allocate long-lived blocks first or in a pool of their own. malloc_trim(0) returns whole free pages to the system.",
  more: "native-programs.md#what-the-process-has-beside-its-blocks",
  sources: ["heap"],
  find: inModule(fragmentationOf),
  leastPart: LEAST_PART,
  sentence: ({ blocks }) => ({
    before: `of free memory cannot be returned to the system: ${counted(blocks, "live block", "live blocks")} of`,
    after: "lie in between",
    short: "free between blocks of",
    shortAfter: "",
  }),
  whole: { short: "of resident memory", long: "of what the process has resident at its end" },
  weight: "left",
  treeWeights: ["left", "bytes"],
};

function fragmentationOf(profile: HeapProfile): FragmentationFinding[] {
  const { presence, totals } = profile.description;
  const { site } = profile.contexts;
  const { residentBytes: resident = 0, allocator } = presence?.memory ?? {};
  if (allocator === undefined || site === undefined || totals?.liveBytes === undefined) return [];
  // The allocator returns the end of the heap by itself, and memory that is not resident has been returned.
  const amount = Math.min(allocator.freeBytes - allocator.topBytes, resident - totals.liveBytes);
  const most = placeWithMost(profile, site.liveBlocks);
  if (most === undefined || most.blocks < LEAST_BLOCKS) return [];
  if (amount < LEAST_BYTES || amount < MOST * resident) return [];
  const part = amount / resident;
  return [{ kind: "fragmentation", tool: "heap", unit: "bytes", amount, part, resident, ...most }];
}

function placeWithMost(
  profile: HeapProfile,
  liveBlocks: Float64Array,
): { place: FindingPlace; blocks: number } | undefined {
  const sites = groupContexts(profile, "site").contexts.map((contexts) => ({
    blocks: sumOf(liveBlocks, contexts),
    context: contexts.reduce((a, b) => (liveBlocks[b]! > liveBlocks[a]! ? b : a)),
  }));
  for (const { blocks, context } of sites.sort((a, b) => b.blocks - a.blocks)) {
    const place = heapPlace(profile, context);
    if (place !== undefined) return { place, blocks };
  }
  return undefined;
}
