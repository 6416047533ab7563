import type { MibField } from "../mib-fields.ts";
import { classifyAllocation, type HotColdThresholds, LLVM_THRESHOLDS } from "./hot-cold.ts";
import {
  blockColumn,
  type DataAccessProfile,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofRecords,
  type MemprofStacks,
} from "./profile.ts";

/** Summary of a MemProf profile. Sizes are the largest TotalSize of a context, in bytes. */
export interface MemprofSummary {
  readonly contexts: bigint;
  readonly coldContexts: bigint;
  readonly hotContexts: bigint;
  readonly maxColdTotalSize: bigint;
  readonly maxWarmTotalSize: bigint;
  readonly maxHotTotalSize: bigint;
}

/** Summarizes a profile. Each call stack counts once, with the block of its first site in record order. */
export function summarize(
  profile: MemprofProfile,
  thresholds: HotColdThresholds = LLVM_THRESHOLDS,
): MemprofSummary {
  const { records, blocks, stacks } = profile;
  const allocCount = blockColumn(blocks, "allocCount");
  const totalSize = blockColumn(blocks, "totalSize");
  const totalLifetime = blockColumn(blocks, "totalLifetime");
  const density = blockColumn(blocks, "totalLifetimeAccessDensity");
  const seen = new Uint8Array(stacks.length);
  const summary = new SummaryBuilder(thresholds);
  for (let site = 0; site < records.allocStack.length; site++) {
    const stack = records.allocStack[site]!;
    if (seen[stack] === 1) continue;
    seen[stack] = 1;
    const row = records.allocBlock[site]!;
    summary.add(
      Number(allocCount?.[row] ?? 0),
      BigInt(totalSize?.[row] ?? 0),
      totalLifetime?.[row] ?? 0,
      density?.[row] ?? 0,
    );
  }
  return summary.build();
}

export class SummaryBuilder {
  readonly #thresholds: HotColdThresholds;
  readonly #contexts = { cold: 0n, hot: 0n, notcold: 0n };
  readonly #largest = { cold: 0n, hot: 0n, notcold: 0n };

  constructor(thresholds: HotColdThresholds = LLVM_THRESHOLDS) {
    this.#thresholds = thresholds;
  }

  add(
    allocCount: number,
    totalSize: bigint,
    totalLifetime: bigint | number,
    totalLifetimeAccessDensity: bigint | number,
  ): void {
    const type = classifyAllocation(allocCount, totalLifetime, totalLifetimeAccessDensity, this.#thresholds);
    this.#contexts[type] += 1n;
    if (totalSize > this.#largest[type]) this.#largest[type] = totalSize;
  }

  build(): MemprofSummary {
    const contexts = this.#contexts;
    const largest = this.#largest;
    return {
      contexts: contexts.cold + contexts.hot + contexts.notcold,
      coldContexts: contexts.cold,
      hotContexts: contexts.hot,
      maxColdTotalSize: largest.cold,
      maxWarmTotalSize: largest.notcold,
      maxHotTotalSize: largest.hot,
    };
  }
}

/** Words of a field, by block; the upper one of a u32 field is 0. */
export interface BlockWords {
  low(block: number): number;
  high(block: number): number;
  /** Copies the words of some blocks to every `step`-th index; the upper word of a u64 field follows its lower one. */
  gather(blocks: Uint32Array, into: Uint32Array, first: number, step: number): void;
}

/** Returns a field of a block as one number; 0 if the profile lacks the field. */
export function wholeWord(words: BlockWords | undefined, block: number): bigint {
  return words === undefined ? 0n : BigInt(words.low(block)) + (BigInt(words.high(block)) << 32n);
}

/** Read-only view of a profile for writers; its tables need not be columns of their own. */
export interface ProfileView {
  readonly frames: MemprofFrames;
  readonly records: MemprofRecords;
  readonly dataAccess: DataAccessProfile | undefined;
  /** Stores the frames of a stack into an array, leaf first. @returns the number of frames */
  framesOf(stack: number, into: number[]): number;
  readonly blockCount: number;
  readonly fields: readonly MibField[];
  field(field: MibField): BlockWords | undefined;
  readonly hasHistograms: boolean;
  histogramOf(block: number): BigUint64Array | undefined;
  summary(): MemprofSummary;
}

/** View that also provides all stacks as a tree. */
export interface StackTreeView extends ProfileView {
  readonly treeLength: number;
  /** Returns a cursor over all stacks but the empty one, in the order of their numbers in the tree, from 1. */
  stacks(): TreeCursor;
  /** Returns the number in the tree of a stack as the records name it. */
  numberOf(stack: number): number;
  readonly metStacks?: readonly number[] | undefined;
}

export interface TreeCursor {
  next(): boolean;
  readonly parent: number;
  readonly frame: number;
}

export function viewOf(profile: MemprofProfile): StackTreeView {
  const { frames, stacks, blocks, records, dataAccess } = profile;
  return {
    frames,
    records,
    dataAccess,
    framesOf(stack, into) {
      let count = 0;
      for (let at = stack; at !== 0; at = stacks.parent[at]!) into[count++] = stacks.frame[at]!;
      return count;
    },
    blockCount: blocks.length,
    fields: blocks.fields,
    field: ({ name }) => wordsOf(blockColumn(blocks, name)),
    hasHistograms: blocks.histograms.size > 0,
    histogramOf: (block) => blocks.histograms.get(block),
    summary: () => summarize(profile),
    treeLength: stacks.length,
    stacks: () => new ColumnCursor(stacks),
    numberOf: (stack) => stack,
    metStacks: profile.metStacks,
  };
}

class ColumnCursor implements TreeCursor {
  parent = 0;
  frame = 0;
  readonly #tree: MemprofStacks;
  #stack = 0;

  constructor(tree: MemprofStacks) {
    this.#tree = tree;
  }

  next(): boolean {
    if (++this.#stack >= this.#tree.length) return false;
    this.parent = this.#tree.parent[this.#stack]!;
    this.frame = this.#tree.frame[this.#stack]!;
    return true;
  }
}

function wordsOf(column: Uint32Array | BigUint64Array | undefined): BlockWords | undefined {
  if (column === undefined) return undefined;
  const isWide = !(column instanceof Uint32Array);
  const words = isWide ? new Uint32Array(column.buffer, column.byteOffset, 2 * column.length) : column;
  const width = isWide ? 2 : 1;
  return {
    low: (block) => words[width * block]!,
    high: (block) => (isWide ? words[2 * block + 1]! : 0),
    gather(blocks, into, first, step) {
      for (let index = 0, at = first; index < blocks.length; index++, at += step) {
        into[at] = words[width * blocks[index]!]!;
        if (isWide) into[at + 1] = words[2 * blocks[index]! + 1]!;
      }
    },
  };
}
