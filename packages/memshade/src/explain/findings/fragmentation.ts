import { counted } from "../../profile/model/counted.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { groupContexts, sumOf } from "../analyses/groups.ts";
import { type FindingKind, type FindingPlace, type Found, LEAST_PART } from "./finding-kind.ts";
import { inModule } from "./heap-blocks.ts";
import { heapPlace } from "./places.ts";

/** Memory of a native program that its allocator keeps between blocks which stay. The place has most of these; the amount is what is kept. */
export interface FragmentationFinding extends Found<"fragmentation", "heap"> {
  /** Live blocks of the place. */
  readonly blocks: number;
  /** What the process has resident. */
  readonly resident: number;
}

/** A process has some MiB resident of its libraries alone: less than that is nothing that anybody sees of it from outside. */
const LEAST_BYTES = 4 * 2 ** 20;
/** Of what is resident: with more, the process is large for this and not for what it does. */
const MOST = 1 / 2;
/**
 * A buffer of stdout and the like stays in every program, and one that frees all before it ends looks as if that kept it: a few blocks hold
 * the end of the heap and divide nothing.
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
    before: `free between ${counted(blocks, "block", "blocks")} of`,
    after: "that stay",
    short: "between blocks of",
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
  // The end of the heap goes back by itself, and what is not resident has gone.
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
