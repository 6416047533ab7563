import { entryOf } from "../../../ground/bytes/entries.ts";
import {
  type BlockTable,
  Column,
  type MemprofFrame,
  type MemprofProfile,
  ProfileBuilder,
} from "../../model/memprof/index.ts";
import type { Mib } from "../../model/mib.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import type { RawContexts } from "../memprof-raw/contexts.ts";
import { OffsetColumn } from "../memprof-raw/dump-index.ts";
import { noStacksLeft } from "../memprof-raw/merge-dumps.ts";

/** Frames at a PC, innermost first; only the last one is not inlined. Empty for a PC that is to be dropped. */
export type FramesAtPc = (pc: bigint) => readonly MemprofFrame[];

export interface SymbolizeRawOptions {
  readonly framesAt: FramesAtPc;
  readonly fields?: readonly MibField[] | undefined;
  readonly keepsSources?: boolean | undefined;
}

export interface SymbolizedRaw {
  readonly profile: MemprofProfile;
  /** Number of the file's stacks with a symbolized frame, with or without a block. */
  readonly stackCount: number;
  /** Returns the stacks of the records in LLVM's order: stacks of blocks, then stacks of calls. */
  stackOrder(): Iterable<number>;
  blockOf(block: number): Mib;
}

/**
 * Builds the records of a raw profile in LLVM's order and form. Contexts with different PCs stay separate, even if
 * their frames are equal (memprof-format, section 7).
 *
 * @throws FormatError "no entries in callstack map after symbolization" if no stack has a symbolized frame
 */
export function symbolizeRaw(raw: RawContexts, options: SymbolizeRawOptions): SymbolizedRaw {
  const { fields = MIB_FIELDS, keepsSources = true } = options;
  const builder = new ProfileBuilder(fields, keepsSources);
  const locations = new Locations(builder, options.framesAt);
  const callSites = new CallSites();
  const stackCount = countStacksLeft(raw, locations);
  const places = new OffsetColumn();
  const stacks = new Column();
  let contexts = 0;
  for (const { pcs, mib, place } of raw.contexts()) {
    const chains = pcs.map((pc) => locations.at(pc)).filter(({ frames }) => frames.length > 0);
    if (chains.length === 0) continue;
    for (const [depth, chain] of chains.entries()) callSites.add(chain, depth === 0);
    const stack = builder.stackOf(chains.flatMap(({ frames }) => frames));
    stacks.set(contexts++, stack);
    const block = addMib(builder.blocks, mib, fields);
    places.set(block, place);
    for (const guid of chains[0]!.guids) builder.record(guid).addAllocSite(stack, block);
  }
  for (const [guid, chains] of callSites.byFunction) {
    const record = builder.record(guid);
    for (const { stack } of chains) record.addCallSite(stack);
  }
  const read = raw.blockReader();
  return {
    profile: builder.build(),
    stackCount,
    *stackOrder() {
      for (let context = 0; context < contexts; context++) yield stacks.get(context);
      for (const chains of callSites.byFunction.values()) for (const { stack } of chains) yield stack;
    },
    blockOf: (block) => read(places.get(block)),
  };
}

function countStacksLeft(raw: RawContexts, locations: Locations): number {
  let count = 0;
  for (const pcs of raw.stacks()) {
    // All PCs of the stack are symbolized here, because LLVM numbers frames in this order.
    if (pcs.filter((pc) => locations.at(pc).frames.length > 0).length > 0) count++;
  }
  if (count === 0) throw noStacksLeft();
  return count;
}

interface Location {
  readonly frames: readonly number[];
  readonly guids: readonly bigint[];
  readonly stack: number;
}

/** Cache of locations: each PC is symbolized once. */
class Locations {
  readonly #locations = new Map<bigint, Location>();
  readonly #builder: ProfileBuilder;
  readonly #framesAt: FramesAtPc;

  constructor(builder: ProfileBuilder, framesAt: FramesAtPc) {
    this.#builder = builder;
    this.#framesAt = framesAt;
  }

  at(pc: bigint): Location {
    return entryOf(this.#locations, pc, () => {
      const found = this.#framesAt(pc);
      const frames = found.map((frame) => this.#builder.frames.intern(frame));
      return { frames, guids: found.map(({ guid }) => guid), stack: this.#builder.stackOf(frames) };
    });
  }
}

/** Call sites by function that lead to allocations. Every PC occurs once, in the order of first use. */
class CallSites {
  readonly byFunction = new Map<bigint, Set<Location>>();

  add(location: Location, isLeaf: boolean): void {
    for (const [depth, guid] of location.guids.entries()) {
      if (isLeaf && depth === 0) continue;
      const sites = entryOf(this.byFunction, guid, () => new Set());
      sites.add(location);
    }
  }
}

function addMib(blocks: BlockTable, mib: Mib, fields: readonly MibField[]): number {
  const row = blocks.addRow();
  for (const [index, { name }] of fields.entries())
    if (name !== "accessHistogram") blocks.setNumber(index, row, mib[name]);
  return row;
}
