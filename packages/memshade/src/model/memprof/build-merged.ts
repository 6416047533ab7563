import { compareFrames, framesOf } from "./frame-table.ts";
import type { MergedProfile, ProfileMerger } from "./merger.ts";
import { orderTree } from "./ordered-tree.ts";
import type { MemprofBlocks, MemprofFrames, MemprofRecords, MemprofStacks } from "./profile.ts";
import { isUnresolved } from "./unresolved.ts";

/**
 * Brings what was merged into an order that only depends on its content: frames and functions ascending, stacks as a
 * walk of their tree meets them, callers first, and the sites of a function by their stacks.
 */
export function buildMerged(merger: ProfileMerger): MergedProfile {
  // What was needed to find things goes before the sorted copies are made, and each table when its copy is there.
  merger.stacks.seal();
  merger.contexts.seal();
  const rows = Array.from({ length: merger.frames.length }, (_, index) => ({
    index,
    frame: merger.frames.at(index),
  })).sort((a, b) => compareFrames(a.frame, b.frame));
  const ranks = new Uint32Array(rows.length);
  for (const [rank, { index }] of rows.entries()) ranks[index] = rank;
  const frames = framesOf(
    rows.map(({ frame }) => frame),
    merger.frames.keepsSources,
  );
  const { stacks, renumbered } = sortStacks(merger, ranks);
  const { blocks, lastInput, stackOfBlock } = sortBlocks(merger, renumbered, stacks.length);
  const records = makeRecords(merger, { frames, stacks, stackOfBlock }, renumbered);
  return { profile: { frames, stacks, blocks, records, dataAccess: merger.dataAccess }, lastInput };
}

/** The tree in the order of a walk that goes to callers first and takes siblings by frame. */
function sortStacks(
  { stacks: tree }: ProfileMerger,
  ranks: Uint32Array,
): { stacks: MemprofStacks; renumbered: Uint32Array } {
  const old = tree.view();
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
  tree.clear();
  return { stacks: { length: old.length, parent, frame }, renumbered };
}

/** The blocks in the order of their stacks. */
function sortBlocks(
  { contexts, blocks: merged, histograms, knownFields }: ProfileMerger,
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
    const column = merged.table.fields.indexOf(field);
    const words = merged.table.wordsOf(column);
    merged.table.release(column);
    if (field.bytes === 4) return order.map((row) => words[row]!);
    const sorted = new Uint32Array(2 * count);
    for (let index = 0; index < count; index++) {
      sorted[2 * index] = words[2 * order[index]!]!;
      sorted[2 * index + 1] = words[2 * order[index]! + 1]!;
    }
    return new BigUint64Array(sorted.buffer);
  });
  const sortedHistograms = new Map<number, BigUint64Array>();
  if (histograms.size > 0) {
    for (const [index, row] of order.entries()) {
      const histogram = histograms.get(row);
      if (histogram !== undefined) sortedHistograms.set(index, histogram);
    }
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

interface SortedTables {
  readonly frames: ReturnType<typeof framesOf>;
  readonly stacks: MemprofStacks;
  readonly stackOfBlock: Uint32Array;
}

function makeRecords(merger: ProfileMerger, tables: SortedTables, renumbered: Uint32Array): MemprofRecords {
  const { frames, stacks, stackOfBlock } = tables;
  const otherFunctions = new Map<number, Set<bigint>>();
  for (const [row, guids] of merger.otherFunctions) {
    otherFunctions.set(renumbered[merger.contexts.keyOf(row)]!, guids);
  }
  const functions = new FunctionNumbers(frames.guid);
  const isPlace = placesAmong(frames);
  for (const guids of otherFunctions.values()) for (const guid of guids) functions.add(guid);
  for (const guid of merger.callSites.functions()) functions.add(guid);
  const guid = functions.sort();
  const visit = (stack: number, see: (record: number) => void) => {
    const seen: number[] = [];
    const seeOnce = (record: number) => {
      if (seen.includes(record)) return;
      seen.push(record);
      see(record);
    };
    for (let at = innermostNamed(stack, stacks, isPlace); at !== 0; at = stacks.parent[at]!) {
      const frame = stacks.frame[at]!;
      seeOnce(functions.ofFrame(frame));
      if (frames.inline[frame] === 0) break;
    }
    for (const other of otherFunctions.get(stack) ?? []) seeOnce(functions.of(other));
  };
  const counts = new Uint32Array(guid.length + 1);
  for (const stack of stackOfBlock) visit(stack, (record) => counts[record + 1]!++);
  const callSites = Array.from(guid, (function_) => sitesOf(merger, function_, renumbered));
  const kept = [...guid.keys()].filter((record) => counts[record + 1]! > 0 || callSites[record]!.length > 0);
  const numberOf = new Int32Array(guid.length).fill(-1);
  for (const [number, record] of kept.entries()) numberOf[record] = number;
  const allocStart = new Uint32Array(kept.length + 1);
  const callStart = new Uint32Array(kept.length + 1);
  for (const [number, record] of kept.entries()) {
    allocStart[number + 1] = allocStart[number]! + counts[record + 1]!;
    callStart[number + 1] = callStart[number]! + callSites[record]!.length;
  }
  const next = allocStart.slice();
  const allocStack = new Uint32Array(allocStart[kept.length]!);
  const allocBlock = new Uint32Array(allocStack.length);
  for (const [block, stack] of stackOfBlock.entries()) {
    visit(stack, (record) => {
      const site = next[numberOf[record]!]!++;
      allocStack[site] = stack;
      allocBlock[site] = block;
    });
  }
  const callStack = new Uint32Array(callStart[kept.length]!);
  const callees = new Map<number, bigint[]>();
  for (const [number, record] of kept.entries()) {
    for (const [index, site] of callSites[record]!.entries()) {
      callStack[callStart[number]! + index] = site.stack;
      if (site.callees.length > 0) callees.set(callStart[number]! + index, site.callees);
    }
  }
  return {
    length: kept.length,
    guid: BigUint64Array.from(kept, (record) => guid[record]!),
    allocStart,
    allocStack,
    allocBlock,
    callStart,
    callStack,
    callees,
  };
}

/** By frame: whether it is a place in a module without debug information. */
function placesAmong({ source, length }: MemprofFrames): Uint8Array {
  const isPlace = new Uint8Array(length);
  if (source === undefined) return isPlace;
  const isPlaceName = source.strings.map(isUnresolved);
  for (let frame = 0; frame < length; frame++) {
    const name = source.name[frame]!;
    if (name >= 0 && isPlaceName[name]) isPlace[frame] = 1;
  }
  return isPlace;
}

/** The part of a stack from the innermost frame on that has a name; all of it where none has. */
function innermostNamed(stack: number, { parent, frame }: MemprofStacks, isPlace: Uint8Array): number {
  for (let at = stack; at !== 0; at = parent[at]!) if (isPlace[frame[at]!] === 0) return at;
  return stack;
}

function sitesOf({ callSites }: ProfileMerger, guid: bigint, renumbered: Uint32Array) {
  return callSites
    .stacksOf(guid)
    .map((stack) => ({ stack: renumbered[stack]!, callees: callSites.calleesOf(guid, stack) }))
    .sort((a, b) => a.stack - b.stack);
}

/** Numbers of functions, ascending by GUID. */
class FunctionNumbers {
  private readonly frameGuids: BigUint64Array;
  private readonly guids: Set<bigint>;
  private numbers = new Map<bigint, number>();
  private numbersOfFrames = new Uint32Array(0);

  constructor(frameGuids: BigUint64Array) {
    this.frameGuids = frameGuids;
    this.guids = new Set(frameGuids);
  }

  add(guid: bigint): void {
    this.guids.add(guid);
  }

  sort(): BigUint64Array {
    const sorted = BigUint64Array.from(this.guids).sort();
    this.numbers = new Map(Array.from(sorted, (guid, index) => [guid, index]));
    this.numbersOfFrames = Uint32Array.from(this.frameGuids, (guid) => this.numbers.get(guid)!);
    return sorted;
  }

  of(guid: bigint): number {
    return this.numbers.get(guid)!;
  }

  ofFrame(frame: number): number {
    return this.numbersOfFrames[frame]!;
  }
}
