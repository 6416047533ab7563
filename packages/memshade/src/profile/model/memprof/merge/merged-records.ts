import type { MemprofFrames, MemprofRecords } from "../profile.ts";
import { isUnresolved } from "../unresolved.ts";
import type { MergeTables } from "./row-index.ts";

/** Merged contexts in their final order, as input of the records. */
export interface OrderedContexts {
  readonly frames: MemprofFrames;
  readonly length: number;
  /** Returns the stack of a context, by its place in the order. The functions below take such stacks. */
  stackAt(index: number): number;
  /** Returns the stack of a row of the merger, in the same numbering. */
  stackOfRow(row: number): number;
  parentOf(stack: number): number;
  frameOf(stack: number): number;
  /** Returns the number by which the records refer to the stack of a context. `index`: its place in the order. */
  siteAt(index: number): number;
  /** Returns the number by which the records refer to a context's block; by default the number of its stack. */
  blockAt?(index: number): number;
  /**
   * Returns the number by which the records refer to a call site. `stack`: its stack in the merger. Numbers
   * ascend in the final order.
   */
  callSiteOf(stack: number): number;
}

/**
 * Builds the records of all functions, ascending by GUID; the allocation sites of each keep the order of the contexts.
 */
export function makeRecords(merger: MergeTables, contexts: OrderedContexts): MemprofRecords {
  const { frames } = contexts;
  const otherFunctions = new Map<number, Set<bigint>>();
  for (const [row, guids] of merger.otherFunctions) otherFunctions.set(contexts.stackOfRow(row), guids);
  const functions = new FunctionNumbers(frames.guid);
  const isPlace = placesAmong(frames);
  for (const guids of otherFunctions.values()) for (const guid of guids) functions.add(guid);
  for (const guid of merger.callSites.functions()) functions.add(guid);
  const guid = functions.sort();
  /** Records of a context; valid up to the count that `findRecords` returns. */
  const found: number[] = [];
  const findRecords = (stack: number): number => {
    let count = 0;
    const note = (record: number) => {
      for (let at = 0; at < count; at++) if (found[at] === record) return;
      found[count++] = record;
    };
    const innermost = isPlace === undefined ? stack : innermostNamed(stack, contexts, isPlace);
    for (let at = innermost; at !== 0; at = contexts.parentOf(at)) {
      const frame = contexts.frameOf(at);
      note(functions.ofFrame(frame));
      if (frames.inline[frame] === 0) break;
    }
    if (otherFunctions.size === 0) return count;
    for (const other of otherFunctions.get(stack) ?? []) note(functions.indexOf(other));
    return count;
  };
  const counts = new Uint32Array(guid.length + 1);
  for (let index = 0; index < contexts.length; index++) {
    const records = findRecords(contexts.stackAt(index));
    for (let at = 0; at < records; at++) counts[found[at]! + 1]! += 1;
  }
  const callSites = Array.from(guid, (function_) => sitesOf(merger, function_, contexts));
  const usedRecords = [...guid.keys()].filter(
    (record) => counts[record + 1]! > 0 || callSites[record]!.length > 0,
  );
  const numberOf = new Int32Array(guid.length).fill(-1);
  for (const [number, record] of usedRecords.entries()) numberOf[record] = number;
  const allocStart = new Uint32Array(usedRecords.length + 1);
  const callStart = new Uint32Array(usedRecords.length + 1);
  for (const [number, record] of usedRecords.entries()) {
    allocStart[number + 1] = allocStart[number]! + counts[record + 1]!;
    callStart[number + 1] = callStart[number]! + callSites[record]!.length;
  }
  const next = allocStart.slice();
  const allocStack = new Uint32Array(allocStart[usedRecords.length]!);
  const allocBlock = contexts.blockAt === undefined ? allocStack : new Uint32Array(allocStack.length);
  for (let index = 0; index < contexts.length; index++) {
    const records = findRecords(contexts.stackAt(index));
    for (let at = 0; at < records; at++) {
      const site = next[numberOf[found[at]!]!]!++;
      allocStack[site] = contexts.siteAt(index);
      if (contexts.blockAt !== undefined) allocBlock[site] = contexts.blockAt(index);
    }
  }
  const callStack = new Uint32Array(callStart[usedRecords.length]!);
  const callees = new Map<number, bigint[]>();
  for (const [number, record] of usedRecords.entries())
    for (const [index, site] of callSites[record]!.entries()) {
      callStack[callStart[number]! + index] = site.stack;
      if (site.callees.length > 0) callees.set(callStart[number]! + index, site.callees);
    }
  return {
    length: usedRecords.length,
    guid: BigUint64Array.from(usedRecords, (record) => guid[record]!),
    allocStart,
    allocStack,
    allocBlock,
    callStart,
    callStack,
    callees,
  };
}

/** Marks the frames that are module offsets without debug information; undefined if the profile has no names. */
function placesAmong({ source, length }: MemprofFrames): Uint8Array | undefined {
  if (source === undefined) return undefined;
  const isPlace = new Uint8Array(length);
  const isPlaceName = source.strings.map(isUnresolved);
  for (let frame = 0; frame < length; frame++) {
    const name = source.name[frame]!;
    if (name >= 0 && isPlaceName[name]) isPlace[frame] = 1;
  }
  return isPlace;
}

/** Returns the part of a stack from the innermost named frame on; the whole stack if no frame has a name. */
function innermostNamed(stack: number, contexts: OrderedContexts, isPlace: Uint8Array): number {
  for (let at = stack; at !== 0; at = contexts.parentOf(at))
    if (isPlace[contexts.frameOf(at)] === 0) return at;
  return stack;
}

function sitesOf({ callSites }: MergeTables, guid: bigint, contexts: OrderedContexts) {
  return callSites
    .stacksOf(guid)
    .map((stack) => ({ stack: contexts.callSiteOf(stack), callees: callSites.calleesOf(guid, stack) }))
    .sort((a, b) => a.stack - b.stack);
}

class FunctionNumbers {
  readonly #frameGuids: BigUint64Array;
  readonly #guids: Set<bigint>;
  #numbers = new Map<bigint, number>();
  #numbersOfFrames = new Uint32Array(0);

  constructor(frameGuids: BigUint64Array) {
    this.#frameGuids = frameGuids;
    this.#guids = new Set(frameGuids);
  }

  add(guid: bigint): void {
    this.#guids.add(guid);
  }

  sort(): BigUint64Array {
    const sorted = BigUint64Array.from(this.#guids).sort();
    this.#numbers = new Map(Array.from(sorted, (guid, index) => [guid, index]));
    this.#numbersOfFrames = Uint32Array.from(this.#frameGuids, (guid) => this.#numbers.get(guid)!);
    return sorted;
  }

  indexOf(guid: bigint): number {
    return this.#numbers.get(guid)!;
  }

  ofFrame(frame: number): number {
    return this.#numbersOfFrames[frame]!;
  }
}
