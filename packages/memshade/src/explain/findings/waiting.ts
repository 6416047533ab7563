import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { blockMeasure } from "../analyses/block-measure.ts";
import { type FindingKind, type Found, LEAST_COMMON_PART } from "./finding-kind.ts";
import { blocksBySite } from "./heap-blocks.ts";

/**
 * Blocks of objects that the program drops and that JavaScript's collector releases. The amount is their
 * bytes at the peak.
 */
export interface WaitingFinding extends Found<"waiting", "heap"> {
  /** Blocks at the peak. */
  readonly blocks: number;
  /** All blocks that the site allocated. */
  readonly allocated: number;
}

/** Least part of a context's bytes over time: above it, the collector determines their lifetime. */
const MOST_OF_CONTEXT = 1 / 2;
/**
 * Least part of the peak: above it, the collector determines the peak. A smaller part is the normal cost of a
 * collector.
 */
const MOST_OF_PEAK = 1 / 2;
/** Page size of WebAssembly memory: smaller savings have no effect. */
const PAGE_BYTES = 65_536;

export const waiting: FindingKind<WaitingFinding> = {
  kind: "waiting",
  also: ["waits for the collector", "uncollected"],
  meaning:
    "Blocks of dropped JavaScript objects that wait for the garbage collector. It does not see how much wasm memory they hold, and it " +
    "frees nothing while code runs without a pause. A finding: such blocks are most of the peak.",
  advice: "Call free(), delete() or close() on each object after its last use.",
  more: "guides/npm-package.md",
  sources: ["heap"],
  find: ({ heap }) => (heap === undefined ? [] : waitingFindings(heap)),
  leastPart: LEAST_COMMON_PART,
  ofBlocks: { after: "leak" },
  // Long lives and leftovers of these blocks have this one cause.
  claims: ({ heap }) => (heap === undefined ? [] : waitingFindings(heap).map(({ place }) => place)),
  sums: ["blocks", "allocated"],
  sentence: () => ({
    before: "of blocks of",
    after: "waited for JavaScript's garbage collector",
    short: "of",
    shortAfter: "waited for the collector",
  }),
  whole: { short: "of the peak", long: "of the bytes at the peak" },
  weight: "peak",
  treeWeights: ["peak", "bytes"],
};

/**
 * Finds sites of contexts whose blocks the collector releases, if all of them together are most of the peak.
 */
function waitingFindings(profile: HeapProfile): WaitingFinding[] {
  const { site, length } = profile.contexts;
  const { peakBytes = 0 } = profile.description.totals ?? {};
  if (site?.collected === undefined || peakBytes === 0) return [];
  const waits = Uint8Array.from({ length }, (_, context) =>
    shareCollected(profile, context as IndexIntoContextTable) > MOST_OF_CONTEXT ? 1 : 0,
  );
  const measure = blockMeasure(
    site.peakBlocks.map((blocks, context) => blocks * waits[context]!),
    site.peakBytes.map((bytes, context) => bytes * waits[context]!),
  );
  if (measure.totalBytes < Math.max(PAGE_BYTES, MOST_OF_PEAK * peakBytes)) return [];
  return blocksBySite(profile, measure).map(({ place, blocks, bytes, allocated }) => ({
    kind: "waiting",
    tool: "heap",
    place,
    amount: bytes,
    unit: "bytes",
    part: bytes / peakBytes,
    blocks,
    allocated,
  }));
}

/**
 * Returns the collector's share of a context's bytes × lifetimes: the share of the live bytes that wait for
 * it at any time, even if the context also makes short-lived blocks.
 */
function shareCollected({ contexts }: HeapProfile, context: IndexIntoContextTable): number {
  const collected = contexts.site?.collected?.[context];
  if (collected === undefined || collected.blocks === 0) return 0;
  const { allocCount, totalSize, totalLifetime } = contexts.mibs;
  const blocks = allocCount[context]! - collected.blocks;
  if (blocks <= 0) return 1;
  const meanSize = collected.bytes / collected.blocks;
  const meanOthers = Math.max(0, Number(totalSize[context]!) - collected.bytes) / blocks;
  // A block that ends with the next allocation still has a lifetime of 1.
  const life = collected.lifetime + collected.blocks;
  const otherLife = Math.max(0, Number(totalLifetime[context]!) - collected.lifetime) + blocks;
  return (life * meanSize) / (life * meanSize + otherLife * meanOthers);
}
