import { compareFrames, framesOf } from "../frame-table.ts";
import { orderTree } from "../ordered-tree.ts";
import type { MemprofBlocks, MemprofFrames, MemprofStacks } from "../profile.ts";
import type { MergedProfile, MergeTables } from "./merge-tables.ts";
import { makeRecords } from "./merged-records.ts";

/**
 * Brings what was merged into an order that only depends on its content: frames and functions ascending, stacks as a
 * walk of their tree meets them, callers first, and the sites of a function by their stacks.
 */
export function buildMerged(merger: MergeTables): MergedProfile {
  // What was needed to find things goes before the sorted copies are made, and each table when its copy is there.
  merger.stacks.seal();
  merger.contexts.seal();
  const { frames, ranks } = sortFrames(merger);
  const { stacks, renumbered } = sortStacks(merger, ranks);
  const { blocks, lastInput, stackOfBlock } = sortBlocks(merger, renumbered, stacks.length);
  const records = makeRecords(merger, {
    frames,
    length: stackOfBlock.length,
    stackAt: (index) => stackOfBlock[index]!,
    stackOfRow: (row) => renumbered[merger.contexts.keyOf(row)]!,
    parentOf: (stack) => stacks.parent[stack]!,
    frameOf: (stack) => stacks.frame[stack]!,
    siteAt: (index) => stackOfBlock[index]!,
    blockAt: (index) => index,
    callSiteOf: (stack) => renumbered[stack]!,
  });
  return { profile: { frames, stacks, blocks, records, dataAccess: merger.dataAccess }, lastInput };
}

/** The frames in ascending order, and the place of each one in it. */
export function sortFrames({ frames: merged }: MergeTables): { frames: MemprofFrames; ranks: Uint32Array } {
  const rows = Array.from({ length: merged.length }, (_, index) => ({ index, frame: merged.at(index) }));
  rows.sort((a, b) => compareFrames(a.frame, b.frame));
  const ranks = new Uint32Array(rows.length);
  for (const [rank, { index }] of rows.entries()) ranks[index] = rank;
  const frames = framesOf(
    rows.map(({ frame }) => frame),
    merged.keepsSources,
  );
  return { frames, ranks };
}

/** The tree in the order of a walk that goes to callers first and takes siblings by frame. */
function sortStacks(
  { stacks: tree }: MergeTables,
  ranks: Uint32Array,
): { stacks: MemprofStacks; renumbered: Uint32Array } {
  const old = tree.flat();
  tree.release();
  const { firstChild, nextSibling } = orderTree(old, new Uint8Array(old.length).fill(1), ranks);
  const renumbered = new Uint32Array(old.length);
  const parent = new Uint32Array(old.length);
  const frame = new Uint32Array(old.length);
  frame[0] = 0xffffffff;
  // Siblings come in descending order, so numbers are given from the end: a stack after all below it.
  let number = old.length - 1;
  for (let stack = 0, isDone = false; ; ) {
    const child = isDone ? 0 : firstChild[stack]!;
    if (child !== 0) {
      stack = child;
      continue;
    }
    if (stack === 0) break;
    renumbered[stack] = number--;
    const sibling = nextSibling[stack]!;
    isDone = sibling === 0;
    stack = isDone ? old.parent[stack]! : sibling;
  }
  for (let stack = 1; stack < old.length; stack++) {
    parent[renumbered[stack]!] = renumbered[old.parent[stack]!]!;
    frame[renumbered[stack]!] = ranks[old.frame[stack]!]!;
  }
  return { stacks: { length: old.length, parent, frame }, renumbered };
}

/** The blocks in the order of their stacks. */
function sortBlocks(
  { contexts, blocks: merged, histograms, knownFields }: MergeTables,
  renumbered: Uint32Array,
  stackCount: number,
): { blocks: MemprofBlocks; lastInput: Float64Array; stackOfBlock: Uint32Array } {
  const count = contexts.length;
  const rowAt = new Uint32Array(stackCount);
  for (let row = 0; row < count; row++) rowAt[renumbered[contexts.keyOf(row)]!] = row + 1;
  const order = new Uint32Array(count);
  const stackOfBlock = new Uint32Array(count);
  for (let stack = 0, next = 0; stack < stackCount; stack++) {
    if (rowAt[stack] === 0) continue;
    order[next] = rowAt[stack]! - 1;
    stackOfBlock[next++] = stack;
  }
  const columns = knownFields.map((field) => {
    const column = merged.fields.indexOf(field);
    const step = field.bytes / 4;
    const sorted = new Uint32Array(step * count);
    for (let index = 0; index < count; index++) {
      sorted[step * index] = merged.lowOf(column, order[index]!);
      if (step === 2) sorted[2 * index + 1] = merged.highOf(column, order[index]!);
    }
    merged.release(column);
    return step === 1 ? sorted : new BigUint64Array(sorted.buffer);
  });
  const sortedHistograms = new Map<number, BigUint64Array>();
  if (histograms.size > 0)
    for (const [index, row] of order.entries()) {
      const histogram = histograms.get(row);
      if (histogram !== undefined) sortedHistograms.set(index, histogram);
    }
  const lastInput = merged.dependsOnOrder
    ? Float64Array.from(order, (row) => merged.lastInputOf(row))
    : new Float64Array(0);
  return {
    blocks: { length: count, fields: knownFields, columns, histograms: sortedHistograms },
    lastInput,
    stackOfBlock,
  };
}
