import { HOT_COLD_FIELDS } from "../block-table.ts";
import { type ChainOrder, ChainWalk } from "../chain-walk.ts";
import {
  type MemprofSummary,
  type StackTreeView,
  SummaryBuilder,
  type TreeCursor,
  wholeWord,
} from "../profile-view.ts";
import { MergedOrder } from "./merged-order.ts";
import type { ProfileMerger } from "./merger.ts";

/**
 * Returns a view of a merger's content in the form of `buildMerged`, read from the merger's own tables. Its records
 * name the stack and the block of a context by the context's place in the order. The merger is consumed.
 */
export function viewMerged(merger: ProfileMerger): StackTreeView {
  const { stacks, contexts, blocks, histograms } = merger;
  const merged = new MergedOrder(merger);
  const { frames, ranks, used } = merged;
  const tree = merged.makeTree();
  const numbers = new Uint32Array(used.count);
  const arranged = merged.arrange(tree, (stack, number) => {
    numbers[used.rankOf(stack)] = number;
  });
  const { order, calls } = arranged;
  const records = merged.records(arranged, (index) => index);
  const stackOf = (site: number) =>
    site < order.length ? contexts.keyOf(order[site]!) : calls[site - order.length]!;
  return {
    frames,
    records,
    dataAccess: merger.dataAccess,
    framesOf(site, into) {
      let count = 0;
      for (let at = stackOf(site); at !== 0; at = stacks.parentOf(at))
        into[count++] = ranks[stacks.frameOf(at)]!;
      return count;
    },
    blockCount: order.length,
    fields: merger.knownFields,
    field: (wanted) => {
      if (!merger.knownFields.includes(wanted)) return undefined;
      const field = blocks.fields.indexOf(wanted);
      return {
        low: (block) => blocks.lowOf(field, order[block]!),
        high: (block) => blocks.highOf(field, order[block]!),
        gather: (wantedBlocks, into, first, step) =>
          blocks.gather(
            field,
            wantedBlocks.map((block) => order[block]!),
            into,
            first,
            step,
          ),
      };
    },
    hasHistograms: histograms.size > 0,
    histogramOf: (block) => histograms.get(order[block]!),
    summary: () => summaryOfMerged(merger),
    treeLength: stacks.length,
    stacks: () => new WalkCursor(tree),
    numberOf: (site) => numbers[used.rankOf(stackOf(site))]!,
  };
}

export function summaryOfMerged({ contexts, blocks, knownFields }: ProfileMerger): MemprofSummary {
  const words = HOT_COLD_FIELDS.map((wanted) =>
    knownFields.includes(wanted) ? blocks.words(blocks.fields.indexOf(wanted)) : undefined,
  );
  const [count, size, lifetime, density] = words;
  const summary = new SummaryBuilder();
  for (let row = 0; row < contexts.length; row++) {
    const lived = wholeWord(lifetime, row);
    summary.add(count?.low(row) ?? 0, wholeWord(size, row), lived, wholeWord(density, row));
  }
  return summary.build();
}

/** Cursor over the stacks in the order of a walk, numbered consecutively. */
class WalkCursor implements TreeCursor {
  parent = 0;
  frame = 0;
  readonly #tree: ChainOrder;
  readonly #walk: ChainWalk;
  readonly #path: number[] = [0];
  #count = 0;

  constructor(tree: ChainOrder) {
    this.#tree = tree;
    this.#walk = new ChainWalk(tree);
  }

  next(): boolean {
    const walk = this.#walk;
    const path = this.#path;
    if (!walk.next()) return false;
    path[walk.depth] = ++this.#count;
    this.parent = path[walk.depth - 1]!;
    this.frame = this.#tree.rankOf(walk.stack);
    return true;
  }
}
