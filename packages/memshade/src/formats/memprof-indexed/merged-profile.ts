import {
  ChainOrder,
  Column,
  freeArray,
  MergedOrder,
  type ProfileMerger,
  summaryOfMerged,
  viewMerged,
} from "../../model/memprof/index.ts";
import { frameIds } from "../memprof/ids.ts";
import { orderFrames } from "./call-stack-array.ts";
import { ChainArray } from "./chain-array.ts";
import type { Chunks } from "./chunk-writer.ts";
import type { LinearProfile } from "./linear-profile.ts";
import type { WriteIndexedOptions } from "./section-parts.ts";
import { writeLinear, writeVersion2 } from "./write.ts";

/** What was merged, as an indexed profile. */
export interface MergedIndexed {
  readonly contexts: number;
  readonly functions: number;
  readonly chunks: Chunks;
}

/**
 * Writes what a merger holds as an indexed profile, the same bytes as `writeIndexed` of the built profile, out
 * of the merger's own tables: nothing as large as these is made beside them. The merger is used up.
 */
export function writeMerged(merger: ProfileMerger, options: WriteIndexedOptions): MergedIndexed {
  const contexts = merger.contexts.length;
  const written = { ...options, order: "stored" } as const;
  if (options.version === 2) {
    const view = viewMerged(merger);
    return { contexts, functions: view.records.length, chunks: writeVersion2(view, written) };
  }
  const profile = linearizeMerged(merger);
  const summary = () => summaryOfMerged(merger);
  return {
    contexts,
    functions: profile.records.length,
    chunks: writeLinear(profile, { dataAccess: merger.dataAccess, summary }, written),
  };
}

/** Records name the stack of a context by the context's row, that of a call site by a number behind all rows. */
function linearizeMerged(merger: ProfileMerger): LinearProfile {
  const { stacks, contexts, blocks } = merger;
  const merged = new MergedOrder(merger);
  const { frames, ranks, used, tree: canonical } = merged;
  // How often frames occur in the stacks in use, and where.
  const counts = new Float64Array(frames.length);
  const positionSums = new Float64Array(frames.length);
  const arranged = merged.arrange(({ depth, path }) => {
    for (let at = 1; at <= depth; at++) {
      const frame = canonical.rankOf(path[at]!);
      counts[frame]! += 1;
      positionSums[frame]! += depth - at;
    }
  });
  const { order, calls } = arranged;
  canonical.release();
  const records = merged.records(arranged, (index) => order[index]!);
  freeArray(order);
  const byCount = orderFrames({ counts, positionSums }, frameIds(frames));
  // The tree has frames as they came; their place among siblings and their number in the file are looked up by those.
  const tree = new ChainOrder(
    stacks,
    ranks.map((rank) => byCount.ranks[rank]!),
  );
  const array = new ChainArray(tree, used);
  /** By number of the stack among those in use. */
  const positions = new Column();
  const elements = array.measure((stack, position) => positions.set(used.rankOf(stack), position));
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
