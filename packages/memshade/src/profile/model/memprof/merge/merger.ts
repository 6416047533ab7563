import type { MibField } from "../../mib-fields.ts";
import { FrameTable } from "../frame-table.ts";
import type {
  DataAccessProfile,
  DataAccessRecord,
  MemprofFrames,
  MemprofProfile,
  MemprofStacks,
} from "../profile.ts";
import { addHistograms } from "../runs/run-merge.ts";
import { StackChains } from "../stack-chains.ts";
import { isUnresolved } from "../unresolved.ts";
import { BlockAdder, type BlockPieces } from "./block-adder.ts";
import { BlockMerge } from "./block-merge.ts";
import { buildMerged } from "./build-merged.ts";
import { CallSiteSet } from "./call-site-set.ts";
import type { MergedProfile, MergeTables } from "./merge-tables.ts";
import { RowIndex } from "./row-index.ts";
import { type ResolvePlace, StackCopier } from "./stack-copier.ts";

/**
 * Combines profiles of many processes. A context is its full call stack; equal contexts become one, whatever
 * addresses they had. What is kept grows with the result, not with the inputs.
 *
 * The result does not depend on the order of the inputs, but for timestamps and CPU numbers, which are those of the
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
  #known: readonly MibField[];

  /** @param before a merger whose contexts are kept elsewhere: this one goes on with its frames and call sites */
  constructor(
    fields: readonly MibField[],
    keepsSources: boolean,
    keepsUnresolved = false,
    before: ProfileMerger | undefined = undefined,
  ) {
    this.#wanted = fields;
    this.keepsUnresolved = keepsUnresolved;
    this.#known = before === undefined ? fields : before.#known;
    this.frames = before?.frames ?? new FrameTable(keepsSources);
    this.blocks = new BlockMerge(fields);
    this.dataAccess = before?.dataAccess;
    this.callSites =
      before?.callSites.renumbered((stack) => this.#copyStack(before.stacks, stack)) ?? new CallSiteSet();
  }

  /** Gives stacks, contexts and blocks back. */
  release(): void {
    this.stacks.release();
    this.contexts.release();
    this.blocks.releaseAll();
  }

  get knownFields(): readonly MibField[] {
    return this.#known;
  }

  noteFields(fields: readonly MibField[]): void {
    if (this.#wanted.some((field) => !fields.includes(field)))
      this.#known = this.#known.filter((field) => fields.includes(field));
  }

  addHistogram(row: number, histogram: BigUint64Array): void {
    this.histograms.set(row, addHistograms(this.histograms.get(row), histogram));
  }

  /**
   * Adds a symbolized profile. Contexts that stand in it several times are taken for dumps of one process.
   *
   * @param resolve finds frames that the profile has as places in modules
   * @returns number of contexts that have no frame left
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

  /** As {@link addProfile}, with the blocks in pieces. */
  addPieces(
    profile: Omit<MemprofProfile, "blocks">,
    blocks: BlockPieces,
    input: number,
    lastInput?: Float64Array,
    resolve?: ResolvePlace,
  ): number {
    // A profile without contexts says nothing of their fields.
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

  /** Notes that a function has a record of a context, where that does not follow from the context's stack. */
  noteFunction(row: number, stack: number, guid: bigint): void {
    const { stacks, frames } = this;
    for (let at = stack; at !== 0; at = stacks.parentOf(at)) {
      const frame = frames.at(stacks.frameOf(at));
      if (frame.guid === guid) return;
      if (!frame.inline && !isUnresolved(frame.name)) break;
    }
    this.#noteOtherFunction(row, guid);
  }

  /** The merged profile in its canonical order. The merger is not to be used any more. */
  build(): MergedProfile {
    return buildMerged(this);
  }

  /** A stack of a tree with the same frames. */
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
        } else if (owner[stack] === record) {
          adder.placeAgain(firstBlock[stack]!, block);
        }
      }
    }
    return dropped;
  }

  #noteOtherFunction(row: number, guid: bigint): void {
    const known = this.otherFunctions.get(row);
    if (known === undefined) this.otherFunctions.set(row, new Set([guid]));
    else known.add(guid);
  }
}

/** Whether a function is in the inline chain of a stack's innermost call: there its contexts are recorded. */
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

/** Both profiles in one: counts of equal symbols added, their places and the cold names united. */
export function mergeDataAccess(
  a: DataAccessProfile | undefined,
  b: DataAccessProfile | undefined,
): DataAccessProfile | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const records = new Map<string | bigint, DataAccessRecord>();
  for (const record of [...a.records, ...b.records]) {
    const known = records.get(record.symbol);
    records.set(record.symbol, known === undefined ? record : mergeRecords(known, record));
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
