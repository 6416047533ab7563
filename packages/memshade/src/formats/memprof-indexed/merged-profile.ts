import {
  ChainOrder,
  ChainWalk,
  Column,
  freeArray,
  HOT_COLD_FIELDS,
  type MemprofFrames,
  type MemprofRecords,
  makeRecords,
  type ProfileMerger,
  RankedBits,
  SummaryBuilder,
  sortFrames,
} from "../../model/memprof/index.ts";
import { frameIds } from "../memprof/ids.ts";
import { orderFrames } from "./call-stack-array.ts";
import { ChainArray } from "./chain-array.ts";
import type { Chunks } from "./chunk-writer.ts";
import type { BlockWords, LinearProfile } from "./linear-profile.ts";
import { type WriteIndexedOptions, writeLinear } from "./write.ts";

/** What was merged, as an indexed profile. */
export interface MergedIndexed {
  readonly contexts: number;
  readonly functions: number;
  readonly chunks: Chunks;
}

/**
 * Writes what a merger holds as a profile of version 3 or 4, the same bytes as `writeIndexed` of the built profile, out
 * of the merger's own tables: nothing as large as these is made beside them. The merger is used up.
 */
export function writeMerged(merger: ProfileMerger, options: WriteIndexedOptions): MergedIndexed {
  const contexts = merger.contexts.length;
  const profile = linearizeMerged(merger);
  const summary = () => summaryOf(profile, contexts);
  return {
    contexts,
    functions: profile.records.length,
    chunks: writeLinear(profile, { dataAccess: merger.dataAccess, summary }, { ...options, order: "stored" }),
  };
}

function summaryOf({ field }: LinearProfile, contexts: number) {
  const [count, size, lifetime, density] = HOT_COLD_FIELDS.map(field);
  const summary = new SummaryBuilder();
  const wide = (words: BlockWords | undefined, row: number) =>
    words === undefined ? 0n : BigInt(words.low(row)) + (BigInt(words.high(row)) << 32n);
  for (let row = 0; row < contexts; row++) {
    summary.add(count?.low(row) ?? 0, wide(size, row), wide(lifetime, row), wide(density, row));
  }
  return summary.build();
}

/** Records name the stack of a context by the context's row, that of a call site by a number behind all rows. */
function linearizeMerged(merger: ProfileMerger): LinearProfile {
  const { stacks, contexts, blocks, callSites } = merger;
  // What was needed to find things goes first.
  stacks.seal();
  contexts.seal();
  const { frames, ranks } = sortFrames(merger);
  const callStacks = new Map<number, number>();
  const used = new RankedBits();
  for (let row = 0; row < contexts.length; row++) used.set(contexts.keyOf(row));
  for (const guid of callSites.functions()) {
    for (const stack of callSites.stacksOf(guid)) {
      callStacks.set(stack, 0);
      used.set(stack);
    }
  }
  used.rankAll();
  const canonical = new ChainOrder(stacks, ranks);
  const { order, counts } = inOrder(merger, canonical, { used, callStacks, frames });
  canonical.release();
  const records = recordsOf(merger, { frames, ranks, order, callStacks });
  freeArray(order);
  const byCount = orderFrames(counts, frameIds(frames));
  // The tree has frames as they came; their place among siblings and their number in the file are looked up by those.
  const tree = new ChainOrder(
    stacks,
    ranks.map((rank) => byCount.ranks[rank]!),
  );
  const array = new ChainArray(tree, used);
  /** By number of the stack among those in use. */
  const positions = new Column();
  const elements = array.measure((stack, position) => positions.set(used.rankOf(stack), position));
  const calls = [...callStacks.keys()].sort((a, b) => callStacks.get(a)! - callStacks.get(b)!);
  const stackOf = (site: number) =>
    site < contexts.length ? contexts.keyOf(site) : calls[site - contexts.length]!;
  return {
    frames,
    frameOrder: byCount.frames,
    elements,
    *writeElements(writer) {
      yield* array.write(
        writer,
        ranks.map((rank) => byCount.linearIds[rank]!),
      );
      array.release();
      tree.release();
      stacks.release();
    },
    positionOf: (site) => positions.get(used.rankOf(stackOf(site))),
    records,
    field: (wanted) => {
      const field = blocks.fields.indexOf(wanted);
      if (!merger.knownFields.includes(wanted)) return undefined;
      return { low: (row) => blocks.lowOf(field, row), high: (row) => blocks.highOf(field, row) };
    },
  };
}

interface UsedStacks {
  readonly used: RankedBits;
  /** Stacks of call sites; their places in the canonical order are set. */
  readonly callStacks: Map<number, number>;
  readonly frames: MemprofFrames;
}

/** The rows in canonical order, and how often frames occur in all stacks in use. */
function inOrder({ contexts }: ProfileMerger, tree: ChainOrder, { used, callStacks, frames }: UsedStacks) {
  const order = new Uint32Array(contexts.length);
  const counts = { counts: new Float64Array(frames.length), positionSums: new Float64Array(frames.length) };
  /** By number of the stack among those in use: its row plus 1. */
  const rows = new Column();
  for (let row = 0; row < contexts.length; row++) rows.set(used.rankOf(contexts.keyOf(row)), row + 1);
  let next = 0;
  let nextCall = contexts.length;
  const see = (stack: number) => {
    const row = rows.get(used.rankOf(stack)) - 1;
    if (row >= 0) order[next++] = row;
    if (callStacks.has(stack)) callStacks.set(stack, nextCall++);
  };
  if (used.has(0)) see(0);
  const walk = new ChainWalk(tree);
  while (walk.next()) {
    const { stack, depth, path } = walk;
    if (!used.has(stack)) continue;
    see(stack);
    for (let at = 1; at <= depth; at++) {
      const frame = tree.rankOf(path[at]!);
      counts.counts[frame]! += 1;
      counts.positionSums[frame]! += depth - at;
    }
  }
  rows.release();
  return { order, counts };
}

interface Ordered {
  readonly frames: MemprofFrames;
  readonly ranks: Uint32Array;
  readonly order: Uint32Array;
  readonly callStacks: ReadonlyMap<number, number>;
}

function recordsOf(merger: ProfileMerger, { frames, ranks, order, callStacks }: Ordered): MemprofRecords {
  const { stacks, contexts } = merger;
  return makeRecords(merger, {
    frames,
    length: order.length,
    stackAt: (index) => contexts.keyOf(order[index]!),
    stackOfRow: (row) => contexts.keyOf(row),
    parentOf: (stack) => stacks.parentOf(stack),
    frameOf: (stack) => ranks[stacks.frameOf(stack)]!,
    siteAt: (index) => order[index]!,
    callSiteOf: (stack) => callStacks.get(stack)!,
  });
}
