import { formatBlocks, formatBytes } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { MERGED_BYTES } from "../../profile/model/run.ts";
import { sumOf } from "../analyses/groups.ts";
import { capacityOf, spareBytes } from "../analyses/growth.ts";
import { type FindingKind, type Found, LEAST_PART } from "./finding-kind.ts";
import { inModule, LEAST_BYTES, sitesWith } from "./heap-blocks.ts";

/** Large blocks of which at least the second half is never used. */
export interface OverCapacityFinding extends Found<"over-capacity", "heap"> {
  /** Blocks concerned. */
  readonly blocks: number;
  /** Mean size of a block, and mean size of its used beginning. Bytes. */
  readonly size: number;
  readonly used: number;
}

/** Large blocks of which most is never used, spread over the block. */
export interface SparseFinding extends Found<"sparse", "heap"> {
  /** Blocks concerned, and mean size of a block. */
  readonly blocks: number;
  readonly size: number;
}

/** Least unused part of a site's bytes: less is the room that a doubling block has. */
const MOST = 0.5;
/**
 * Least unused part of the peak for a single block, of which its program may need more with other input. Also its least
 * size: the C library makes single buffers of some KiB for each file.
 */
const MOST_OF_PEAK = 0.25;
const LEAST_SINGLE_BYTES = 65_536;

export const overCapacity: FindingKind<OverCapacityFinding> = {
  kind: "over-capacity",
  meaning: "Large blocks whose end is never accessed.",
  advice: "Allocate less, or shrink the block to the bytes in use.",
  sources: ["use"],
  find: inModule(overCapacityFindings),
  leastPart: LEAST_PART,
  sums: ["blocks"],
  sentence: ({ size, used, blocks }) => ({
    before: "at the end of blocks of",
    after: `are never used: ${formatBytes(used)} of ${formatBytes(size)} are in use${blocks > 1 ? " on average" : ""}`,
    short: "of",
    shortAfter: `is spare: ${formatBytes(used)} of ${formatBytes(size)} used`,
  }),
  whole: { short: "of the peak", long: "of the bytes at the peak" },
  weight: "spare",
  treeWeights: ["spare", "bytes"],
};

export const sparse: FindingKind<SparseFinding> = {
  kind: "sparse",
  also: ["sparse use"],
  meaning:
    "Large blocks of which most is never accessed, in many pieces: a table with far more slots than entries. Accesses that share a counter may have used 64 bytes; more than half must be unused even so.",
  advice: "Make the table as large as its entries need, or use a hash table or a sorted list of the entries.",
  sources: ["use"],
  find: inModule(sparseFindings),
  leastPart: LEAST_PART,
  sums: ["blocks"],
  sentence: ({ size, blocks }) => ({
    before: `in ${formatBlocks(blocks)} of`,
    after: `are never used, spread over ${blocks > 1 ? "blocks" : "a block"} of ${formatBytes(size)}`,
    short: "of",
    shortAfter: `of ${formatBytes(size)}: unused, spread`,
  }),
  whole: { short: "of the peak", long: "of the bytes at the peak" },
  weight: "peak",
  treeWeights: ["peak", "bytes"],
};

/**
 * Finds sites of whose blocks more than half is never accessed, although the ends are. A merged counter may stand for
 * all accesses behind it, up to the distance at which accesses never share one: a struct is addressed by its beginning.
 */
function sparseFindings(profile: HeapProfile): SparseFinding[] {
  const { site, mibs } = profile.contexts;
  const { peakBytes = 0 } = profile.description.totals ?? {};
  if (site === undefined || spareBytes(profile) === undefined || peakBytes === 0) return [];
  const span = profile.description.counters === "exact" ? 1 : MERGED_BYTES / profile.description.granuleBytes;
  return sitesWith(profile, site.peakBytes).flatMap(({ contexts, place }): SparseFinding[] => {
    const granules = sumOf(site.granules, contexts);
    const touched = sumOf(site.granulesTouched, contexts);
    const { bytes = 0, unusedBytes = 0 } = capacityOf(profile, contexts) ?? {};
    const isSparse = touched > 0 && touched * span <= (1 - MOST) * granules;
    // Most counters of a table with small slots stand for themselves alone.
    const amount = Math.round((1 - touched / granules) * sumOf(site.peakBytes, contexts));
    const part = amount / peakBytes;
    // Blocks that are not used at all, or only at their beginning, are findings of other kinds.
    if (!isSparse || unusedBytes >= MOST * bytes) return [];
    if (part < MOST_OF_PEAK || amount < LEAST_SINGLE_BYTES) return [];
    const blocks = sumOf(mibs.allocCount, contexts);
    const size = Math.round(sumOf(mibs.totalSize, contexts) / blocks);
    return [{ kind: "sparse", tool: "heap", place, amount, unit: "bytes", part, blocks, size }];
  });
}

/**
 * Finds sites whose blocks are used to less than half: several blocks, or one whose unused end is a
 * large part of the program's memory. The amount is the unused end of the blocks at the peak, estimated by their mean.
 */
function overCapacityFindings(profile: HeapProfile): OverCapacityFinding[] {
  const column = spareBytes(profile);
  const { site } = profile.contexts;
  const { peakBytes } = profile.description.totals ?? {};
  if (column === undefined || site === undefined || peakBytes === undefined || peakBytes === 0) return [];
  return sitesWith(profile, column).flatMap(({ contexts, place }): OverCapacityFinding[] => {
    const { blocks, bytes, unusedBytes } = capacityOf(profile, contexts)!;
    const spare = unusedBytes / bytes;
    const amount = Math.round(spare * contexts.reduce((sum, context) => sum + site.peakBytes[context]!, 0));
    const part = amount / peakBytes;
    if (amount < LEAST_BYTES || spare < MOST) return [];
    if (blocks === 1 && (part < MOST_OF_PEAK || amount < LEAST_SINGLE_BYTES)) return [];
    const used = Math.round((bytes - unusedBytes) / blocks);
    const size = Math.round(bytes / blocks);
    return [{ kind: "over-capacity", tool: "heap", place, amount, unit: "bytes", part, blocks, size, used }];
  });
}
