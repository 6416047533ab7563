import type { Mib } from "../../mib.ts";
import { type MibField, zeroMib } from "../../mib-fields.ts";
import { compareFrames, FrameTable, frameAt, framesOf, type MemprofFrame } from "../frame-table.ts";
import { orderTree } from "../ordered-tree.ts";
import type {
  DataAccessProfile,
  DataAccessRecord,
  MemprofBlocks,
  MemprofFrames,
  MemprofProfile,
  MemprofStacks,
} from "../profile.ts";
import { addHistograms } from "../runs/run-bytes.ts";
import { StackChains } from "../stack-chains.ts";
import { isUnresolved, type UnresolvedPlace, unresolvedPlace } from "../unresolved.ts";
import { BlockMerge, mergeInOrder } from "./block-merge.ts";
import { CallSiteSet } from "./call-site-set.ts";
import { makeRecords } from "./merged-records.ts";
import { RankedBits } from "./ranked-bits.ts";
import { type MergedProfile, type MergeTables, RowIndex } from "./row-index.ts";

/** Blocks of a profile in pieces, so that the table need not be in memory as a whole. */
interface BlockPieces {
  readonly length: number;
  readonly fields: readonly MibField[];
  readonly pieces: Iterable<MemprofBlocks>;
}

/** Blocks of one process with the same context, in the order of the sites. */
interface Repeated {
  readonly row: number;
  readonly blocks: number[];
  readonly mibs: (Mib | undefined)[];
}

/** Adds the blocks of a profile to a merger in table order, after the context of each block is known. */
class BlockAdder {
  readonly #merger: MergeTables;
  readonly #source: BlockPieces;
  readonly #input: number;
  readonly #lastInput: Float64Array | undefined;
  /** Row of the block's context plus 1, by block; 0 for blocks that do not count. */
  readonly #rows: Uint32Array;
  readonly #moreRows = new Map<number, number[]>();
  /** Group with which the block is merged, and its place there, by block. */
  readonly #repeated = new Map<number, { readonly group: Repeated; readonly place: number }>();
  /** First new row, and the new rows that already have a block. */
  readonly #firstNew: number;
  readonly #filled = new RankedBits();

  constructor(merger: MergeTables, source: BlockPieces, input: number, lastInput: Float64Array | undefined) {
    this.#merger = merger;
    this.#source = source;
    this.#input = input;
    this.#lastInput = lastInput;
    this.#rows = new Uint32Array(source.length);
    this.#firstNew = merger.contexts.length;
  }

  place(block: number, row: number): void {
    if (this.#rows[block] === 0) {
      this.#rows[block] = row + 1;
      return;
    }
    const moreRows = this.#moreRows.get(block);
    if (moreRows === undefined) this.#moreRows.set(block, [row]);
    else moreRows.push(row);
  }

  placeAgain(first: number, block: number): void {
    let group = this.#repeated.get(first)?.group;
    if (group === undefined) {
      group = { row: this.#rows[first]! - 1, blocks: [first], mibs: [] };
      this.#repeated.set(first, { group, place: 0 });
    }
    this.#repeated.set(block, { group, place: group.blocks.push(block) - 1 });
  }

  add(): void {
    let first = 0;
    for (const piece of this.#source.pieces) {
      this.#addPiece(piece, first);
      first += piece.length;
    }
    for (const group of new Set(Array.from(this.#repeated.values(), (found) => found.group))) {
      const mibs = group.mibs.filter((mib) => mib !== undefined);
      if (mibs.length === 0) continue;
      const from = this.#inputOf(group.blocks[0]!);
      this.#merger.blocks.addMib(mergeInOrder(mibs), group.row, this.#isNew(group.row), from);
    }
    this.#filled.release();
  }

  #addPiece(piece: MemprofBlocks, first: number): void {
    const merger = this.#merger;
    const rows = this.#rows;
    const words = merger.blocks.fields.map((field) => {
      const column = piece.columns[piece.fields.indexOf(field)];
      return column && new Uint32Array(column.buffer, column.byteOffset, column.byteLength / 4);
    });
    for (let index = 0; index < piece.length; index++) {
      const block = first + index;
      const found = this.#repeated.size === 0 ? undefined : this.#repeated.get(block);
      if (found !== undefined) {
        found.group.mibs[found.place] = mibOfBlock(piece, index);
        this.#addHistogram(piece, index, found.group.row);
      }
      if (rows[block] === 0) continue;
      if (found === undefined) this.#addBlock(piece, words, index, block, rows[block]! - 1);
      for (const row of this.#moreRows.size === 0 ? [] : (this.#moreRows.get(block) ?? []))
        this.#addBlock(piece, words, index, block, row);
    }
  }

  #addBlock(
    piece: MemprofBlocks,
    words: readonly (Uint32Array | undefined)[],
    index: number,
    block: number,
    row: number,
  ): void {
    this.#merger.blocks.addWords(words, index, row, this.#isNew(row), this.#inputOf(block));
    this.#addHistogram(piece, index, row);
  }

  #addHistogram({ histograms }: MemprofBlocks, index: number, row: number): void {
    const histogram = histograms.size === 0 ? undefined : histograms.get(index);
    if (histogram !== undefined) this.#merger.addHistogram(row, histogram);
  }

  #inputOf(block: number): number {
    return this.#lastInput?.[block] ?? this.#input;
  }

  /** Returns true for the first block of a new row, and marks the row as filled. */
  #isNew(row: number): boolean {
    const number = row - this.#firstNew;
    if (number < 0 || this.#filled.has(number)) return false;
    this.#filled.set(number);
    return true;
  }
}

function mibOfBlock({ fields, columns }: MemprofBlocks, row: number): Mib {
  const mib = zeroMib();
  for (const [index, field] of fields.entries()) {
    const value = columns[index]![row]!;
    if (field.bytes === 4) mib[field.name] = Number(value);
    else mib[field.name] = BigInt(value);
  }
  return mib;
}

/**
 * Combines profiles of many processes. A context is its full call stack; equal contexts become one, whatever their
 * addresses. Memory grows with the result, not with the inputs.
 *
 * The result does not depend on the order of the inputs, except for timestamps and CPU numbers, which are those of the
 * input with the highest number.
 */
export class ProfileMerger implements MergeTables {
  readonly frames: FrameTable;
  readonly stacks = new StackChains();
  readonly contexts = new RowIndex();
  readonly blocks: BlockMerge;
  readonly callSites: CallSiteSet;
  readonly histograms = new Map<number, BigUint64Array>();
  readonly otherFunctions = new Map<number, Set<bigint>>();
  dataAccess: DataAccessProfile | undefined;
  readonly keepsUnresolved: boolean;
  readonly #wanted: readonly MibField[];
  #knownFields: readonly MibField[];

  /** @param before a merger whose contexts were spilled: this one continues with its frames and call sites */
  constructor(
    fields: readonly MibField[],
    keepsSources: boolean,
    keepsUnresolved = false,
    before: ProfileMerger | undefined = undefined,
  ) {
    this.#wanted = fields;
    this.keepsUnresolved = keepsUnresolved;
    this.#knownFields = before === undefined ? fields : before.#knownFields;
    this.frames = before?.frames ?? new FrameTable(keepsSources);
    this.blocks = new BlockMerge(fields);
    this.dataAccess = before?.dataAccess;
    this.callSites =
      before?.callSites.renumbered((stack) => this.#copyStack(before.stacks, stack)) ?? new CallSiteSet();
  }

  release(): void {
    this.stacks.release();
    this.contexts.release();
    this.blocks.releaseAll();
  }

  get knownFields(): readonly MibField[] {
    return this.#knownFields;
  }

  noteFields(fields: readonly MibField[]): void {
    if (this.#wanted.some((field) => !fields.includes(field)))
      this.#knownFields = this.#knownFields.filter((field) => fields.includes(field));
  }

  addHistogram(row: number, histogram: BigUint64Array): void {
    this.histograms.set(row, addHistograms(this.histograms.get(row), histogram));
  }

  /**
   * Adds a symbolized profile. Contexts that occur several times in it are treated as dumps of one process.
   *
   * @param resolve finds the frames of module offsets
   * @returns number of contexts without any frame
   */
  addProfile(
    profile: MemprofProfile,
    input: number,
    lastInput?: Float64Array,
    resolve?: ResolvePlace,
  ): number {
    const { blocks } = profile;
    const pieces = { length: blocks.length, fields: blocks.fields, pieces: [blocks] };
    return this.addPieces(profile, pieces, input, lastInput, resolve);
  }

  addPieces(
    profile: Omit<MemprofProfile, "blocks">,
    blocks: BlockPieces,
    input: number,
    lastInput?: Float64Array,
    resolve?: ResolvePlace,
  ): number {
    // The fields of a profile without contexts are meaningless.
    if (blocks.length > 0) this.noteFields(blocks.fields);
    const copier = new StackCopier(this, profile, resolve);
    const adder = new BlockAdder(this, blocks, input, lastInput);
    const dropped = this.#addContexts(profile, copier, adder);
    adder.add();
    const { records } = profile;
    for (let record = 0; record < records.length; record++) {
      const guid = records.guid[record]!;
      for (let site = records.callStart[record]!; site < records.callStart[record + 1]!; site++)
        this.callSites.add(guid, copier.copies[records.callStack[site]!]!, records.callees.get(site));
    }
    this.addDataAccess(profile.dataAccess);
    return dropped;
  }

  addDataAccess(profile: DataAccessProfile | undefined): void {
    this.dataAccess = mergeDataAccess(this.dataAccess, profile);
  }

  /** Records that a function's record has a context, unless that follows from the context's stack. */
  noteFunction(row: number, stack: number, guid: bigint): void {
    const { stacks, frames } = this;
    for (let at = stack; at !== 0; at = stacks.parentOf(at)) {
      const frame = frames.at(stacks.frameOf(at));
      if (frame.guid === guid) return;
      if (!frame.inline && !isUnresolved(frame.name)) break;
    }
    this.#noteOtherFunction(row, guid);
  }

  build(): MergedProfile {
    return buildMerged(this);
  }

  #copyStack(from: StackChains, stack: number): number {
    const frames: number[] = [];
    for (let at = stack; at !== 0; at = from.parentOf(at)) frames.push(from.frameOf(at));
    return frames.reduceRight((caller, frame) => this.stacks.child(caller, frame), 0);
  }

  #addContexts(
    { frames, stacks: tree, records }: Omit<MemprofProfile, "blocks">,
    copier: StackCopier,
    adder: BlockAdder,
  ): number {
    const stacks = copier.copies;
    let dropped = 0;
    // A context in an inline chain is recorded in several functions: the blocks of the first record count.
    const owner = new Int32Array(tree.length).fill(-1);
    const firstBlock = new Uint32Array(tree.length);
    for (let record = 0; record < records.length; record++) {
      const guid = records.guid[record]!;
      for (let site = records.allocStart[record]!; site < records.allocStart[record + 1]!; site++) {
        const stack = records.allocStack[site]!;
        const block = records.allocBlock[site]!;
        const isFirst = owner[stack] === -1;
        if (isFirst) {
          owner[stack] = record;
          firstBlock[stack] = block;
        }
        if (stacks[stack] === 0) {
          if (owner[stack] === record) dropped++;
          continue;
        }
        const row = this.contexts.rowOf(stacks[stack]!);
        if (!isInLeafChain(frames, tree, stack, guid)) this.#noteOtherFunction(row, guid);
        if (isFirst) {
          copier.addResolvedCalls(stack);
          adder.place(block, row);
        } else if (owner[stack] === record) adder.placeAgain(firstBlock[stack]!, block);
      }
    }
    return dropped;
  }

  #noteOtherFunction(row: number, guid: bigint): void {
    const existing = this.otherFunctions.get(row);
    if (existing === undefined) this.otherFunctions.set(row, new Set([guid]));
    else existing.add(guid);
  }
}

/**
 * Returns true if a function is in the inline chain of a stack's innermost call, whose functions record the context.
 */
function isInLeafChain(frames: MemprofFrames, tree: MemprofStacks, stack: number, guid: bigint): boolean {
  const { source } = frames;
  for (let at = stack; at !== 0; at = tree.parent[at]!) {
    const frame = tree.frame[at]!;
    if (frames.guid[frame] === guid) return true;
    const isPlace = source !== undefined && isUnresolved(source.strings[source.name[frame]!]);
    if (frames.inline[frame] === 0 && !isPlace) return false;
  }
  return false;
}

/** Resolves a module offset to frames, innermost first; undefined if unknown. */
type ResolvePlace = (place: UnresolvedPlace) => readonly MemprofFrame[] | undefined;

type ProfileStacks = Pick<MemprofProfile, "frames" | "stacks">;

/** Copies the stacks of a profile into a merger. Module offsets are resolved, kept or dropped. */
class StackCopier {
  readonly copies: Uint32Array;
  readonly #merger: MergeTables;
  readonly #profile: ProfileStacks;
  /** Merger's frames, outermost first, by frame of the profile. */
  readonly #frames: (readonly number[])[];
  /** Value 1 for a module offset that was resolved, by frame. */
  readonly #wasResolved: Uint8Array;
  #hasResolved = false;

  constructor(merger: MergeTables, profile: ProfileStacks, resolve: ResolvePlace | undefined) {
    this.#merger = merger;
    this.#profile = profile;
    this.#wasResolved = new Uint8Array(profile.frames.length);
    this.#frames = Array.from({ length: profile.frames.length }, (_, index) =>
      this.#copyFrame(index, resolve),
    );
    const { length, parent, frame } = profile.stacks;
    this.copies = new Uint32Array(length);
    for (let stack = 1; stack < length; stack++) {
      let copy = this.copies[parent[stack]!]!;
      for (const copied of this.#frames[frame[stack]!]!) copy = merger.stacks.child(copy, copied);
      this.copies[stack] = copy;
    }
  }

  #copyFrame(index: number, resolve: ResolvePlace | undefined): number[] {
    const merger = this.#merger;
    const profile = this.#profile;
    const wasResolved = this.#wasResolved;
    const frame = frameAt(profile.frames, index);
    const place = unresolvedPlace(frame.name);
    if (place === undefined) return [merger.frames.intern(frame)];
    const found = resolve?.(place);
    if (found !== undefined) {
      wasResolved[index] = 1;
      this.#hasResolved = true;
      return found.map((each) => merger.frames.intern(each)).reverse();
    }
    return merger.keepsUnresolved ? [merger.frames.intern(frame)] : [];
  }

  /** Adds the call sites of a context that were resolved only now. */
  addResolvedCalls(stack: number): void {
    if (!this.#isResolved(stack)) return;
    const { stacks, frames, callSites } = this.#merger;
    let isLeaf = true;
    for (let at = this.copies[stack]!; at !== 0; ) {
      // Frames of one call: its inline chain, innermost first.
      const chain: number[] = [];
      for (let isInline = true; isInline && at !== 0; at = stacks.parentOf(at)) {
        chain.push(stacks.frameOf(at));
        isInline = frames.at(chain.at(-1)!).inline;
      }
      if (isUnresolved(frames.at(chain[0]!).name)) continue;
      // The innermost function of the allocation call itself is the allocation site, not a call site.
      const callers = isLeaf ? chain.slice(1) : chain;
      isLeaf = false;
      if (callers.length === 0) continue;
      const call = chain.reduceRight((caller, frame) => stacks.child(caller, frame), 0);
      for (const frame of callers) callSites.add(frames.at(frame).guid, call, undefined);
    }
  }

  #isResolved(stack: number): boolean {
    if (!this.#hasResolved) return false;
    const { parent, frame } = this.#profile.stacks;
    for (let at = stack; at !== 0; at = parent[at]!) if (this.#wasResolved[frame[at]!] === 1) return true;
    return false;
  }
}

export function mergeDataAccess(
  a: DataAccessProfile | undefined,
  b: DataAccessProfile | undefined,
): DataAccessProfile | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const records = new Map<string | bigint, DataAccessRecord>();
  for (const record of [...a.records, ...b.records]) {
    const existing = records.get(record.symbol);
    records.set(record.symbol, existing === undefined ? record : mergeRecords(existing, record));
  }
  return {
    records: [...records.values()].sort(
      (x, y) => compare(typeof x.symbol, typeof y.symbol) || compare(x.symbol, y.symbol),
    ),
    coldSymbols: [...new Set([...a.coldSymbols, ...b.coldSymbols])].sort(compare),
    coldHashes: [...new Set([...a.coldHashes, ...b.coldHashes])].sort(compare),
  };
}

function mergeRecords(a: DataAccessRecord, b: DataAccessRecord): DataAccessRecord {
  const places = new Map(
    [...a.locations, ...b.locations].map((place) => [`${place.line} ${place.file}`, place]),
  );
  return {
    symbol: a.symbol,
    accessCount: BigInt.asUintN(64, a.accessCount + b.accessCount),
    locations: [...places.values()].sort((x, y) => compare(x.file, y.file) || x.line - y.line),
  };
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Sorts the merged content into an order that depends on the content alone. Frames and functions are ascending. Stacks
 * are in the order of a tree walk, callers first, and the sites of a function are in the order of their stacks.
 */
function buildMerged(merger: MergeTables): MergedProfile {
  // Lookup tables are released before the sorted copies are made, and each table after its copy.
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

/** Sorts the frames. @returns the sorted frames and the rank of each frame */
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

/** Sorts the tree in the order of a walk that visits callers first, and siblings by frame. */
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
  // Siblings come in descending order, so numbers are assigned from the end: a stack after all of its descendants.
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
