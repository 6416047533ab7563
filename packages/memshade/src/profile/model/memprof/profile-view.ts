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

/** The six figures at the head of a MemProf profile. Sizes are the largest TotalSize of a context, in bytes. */
export interface MemprofSummary {
  readonly contexts: bigint;
  readonly coldContexts: bigint;
  readonly hotContexts: bigint;
  readonly maxColdTotalSize: bigint;
  readonly maxWarmTotalSize: bigint;
  readonly maxHotTotalSize: bigint;
}

/**
 * Summarizes a profile. Each call stack counts once, with the block of its first site in record order.
 */
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

/** Collects a summary context by context. */
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

/** The two words of a field, by block; the upper one of a u32 field is 0. */
export interface BlockWords {
  low(block: number): number;
  high(block: number): number;
  /** Copies the words of some blocks, a u64 field's upper one behind its lower one, to every `step`-th place. */
  gather(blocks: Uint32Array, into: Uint32Array, first: number, step: number): void;
}

/** A field of a block as one number; 0 where the field is not known. */
export function wholeWord(words: BlockWords | undefined, block: number): bigint {
  return words === undefined ? 0n : BigInt(words.low(block)) + (BigInt(words.high(block)) << 32n);
}

/** A profile as those see it who write it: its tables need not be columns of their own. */
export interface ProfileView {
  readonly frames: MemprofFrames;
  readonly records: MemprofRecords;
  readonly dataAccess: DataAccessProfile | undefined;
  /** Puts the frames of a stack into an array, leaf first. @returns how many they are */
  framesOf(stack: number, into: number[]): number;
  readonly blockCount: number;
  /** The fields of the blocks that are known, in tag order. */
  readonly fields: readonly MibField[];
  /** Undefined where the field is not known. */
  field(field: MibField): BlockWords | undefined;
  readonly hasHistograms: boolean;
  histogramOf(block: number): BigUint64Array | undefined;
  summary(): MemprofSummary;
}

/** A view that also tells all stacks, as a tree. */
export interface StackTreeView extends ProfileView {
  /** Number of stacks in the tree, the empty one included. */
  readonly treeLength: number;
  /** All stacks but the empty one, in the order of their numbers in the tree, which begin with 1. */
  stacks(): TreeCursor;
  /** Number in the tree of a stack that the records name. */
  numberOf(stack: number): number;
  /** As a profile has them. */
  readonly metStacks?: readonly number[] | undefined;
}

/** One stack of a tree after the other. */
export interface TreeCursor {
  /** Goes to the next stack, at first to the first one. @returns false at the end */
  next(): boolean;
  /** Number of the stack that calls it. */
  readonly parent: number;
  readonly frame: number;
}

/** A built profile. */
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

/** A column as words; undefined where there is none. */
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
