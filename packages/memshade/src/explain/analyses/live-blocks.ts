import { type HeapProfile, REACH_OF_KIND } from "../../profile/model/heap-profile.ts";
import type { HeapReach } from "../../profile/model/run.ts";
import { LEAK_KINDS, type LeakKind } from "../../profile/model/suppression.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { libraryKeeps } from "./frames/library-blocks.ts";

/** Kind of live blocks: a leak kind, suppressed, or not examined. */
export type LiveKind = LeakKind | "suppressed" | "unknown";

export interface LiveAmount {
  readonly kind: LiveKind;
  readonly bytes: number;
  readonly blocks: number;
}

export function reachOf(profile: HeapProfile): HeapReach | undefined {
  return profile.contexts.site && profile.description.totals?.reach;
}

/** Returns live blocks of a kind at the end; undefined if reachability was not determined. */
export function liveBlocksOf(profile: HeapProfile, kind: LeakKind): BlockMeasure | undefined {
  const { site } = profile.contexts;
  if (site === undefined || reachOf(profile) === undefined) return undefined;
  const [bytes, blocks] = REACH_OF_KIND[kind];
  return blockMeasure(site[blocks], site[bytes]);
}

/** Returns the reachable blocks that the C library keeps for itself; undefined if reachability was not determined. */
export function keptByLibrary(profile: HeapProfile): BlockMeasure | undefined {
  const reachable = liveBlocksOf(profile, "reachable");
  const isKept = libraryKeeps(profile);
  const ofLibrary = (values: Float64Array) => values.map((value, context) => (isKept(context) ? value : 0));
  return reachable && blockMeasure(ofLibrary(reachable.blocks), ofLibrary(reachable.bytes));
}

/**
 * Returns all live blocks at the end by kind, without empty kinds; the amounts add up to the whole. Undefined if
 * reachability was not determined.
 */
export function liveByKind(profile: HeapProfile): LiveAmount[] | undefined {
  const { totals, suppressed = [] } = profile.description;
  const { liveBytes, liveBlocks } = totals ?? {};
  if (liveBytes === undefined || liveBlocks === undefined || reachOf(profile) === undefined) return undefined;
  const amounts: LiveAmount[] = LEAK_KINDS.map((kind) => {
    const { totalBytes: bytes, totalBlocks: blocks } = liveBlocksOf(profile, kind)!;
    return { kind, bytes, blocks };
  });
  const sum = (field: "bytes" | "blocks", rows: readonly { bytes: number; blocks: number }[]): number =>
    rows.reduce((total, amount) => total + amount[field], 0);
  amounts.push({ kind: "suppressed", bytes: sum("bytes", suppressed), blocks: sum("blocks", suppressed) });
  const bytes = liveBytes - sum("bytes", amounts);
  const blocks = liveBlocks - sum("blocks", amounts);
  amounts.push({ kind: "unknown", bytes, blocks });
  return amounts.filter((amount) => amount.blocks > 0);
}
