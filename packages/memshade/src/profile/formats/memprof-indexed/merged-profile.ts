import {
  ChainOrder,
  Column,
  countFrames,
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
  const { frames, ranks, used, branches } = merged;
  const byCount = orderFrames(countFrames(stacks, used, branches, ranks), frameIds(frames));
  const canonical = merged.makeTree();
  const arranged = merged.arrange(canonical);
  canonical.release();
  const { order, calls } = arranged;
  const records = merged.records(arranged, (index) => order[index]!);
  freeArray(order);
  // The tree has frames as they came; their place among siblings and their number in the file are looked up by those.
  const siblings = ranks.map((rank) => byCount.ranks[rank]!);
  const array = new ChainArray(stacks, used, branches);
  /** By number of the stack among those in use. */
  const positions = new Column();
  const elements = array.layOut(new ChainOrder(stacks, siblings, branches), (stack, position) => {
    positions.set(used.rankOf(stack), position);
  });
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
      stacks.release();
    },
    putPositions(sites, into, first, step) {
      // What is to be read lies far apart: each table in turn is asked for many sites.
      const stacks = sites.map(stackOf);
      used.ranksOf(stacks);
      positions.gather(stacks, into, first, step);
    },
    records,
    field: (wanted) => {
      if (!merger.knownFields.includes(wanted)) return undefined;
      return blocks.words(blocks.fields.indexOf(wanted));
    },
  };
}
