import { ACCESS_BYTES, ACCESS_KIND, AccessKind } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

/** What kind of instruction an access site is. */
export const SiteClass = {
  Plain: 0,
  /** Atomic loads, stores, read-modify-writes, waits. */
  Atomic: 1,
  /** `memory.copy` */
  Copy: 2,
  /** `memory.fill` and `memory.init` */
  Fill: 3,
  /** A call of an imported function, which may write to memory. */
  Host: 4,
  /** A call of a function that hands out zeroed blocks; for calls that are not seen, that function's first instruction. */
  Zeroed: 5,
} as const;

export const SITE_CLASS_NAMES = ["plain", "atomic", "copy", "fill", "host", "calloc"] as const;

/** In place of an opcode: a call of an imported function, and one of a function that hands out zeroed blocks. */
export const HOST_CALL = -1;
export const ZEROING_CALL = -2;
const MOST_CALLS = 2;

/** Where the sites of a module are, and what they do. */
interface SitePlaces {
  /** Offset of each instruction in the code section's payload. */
  offset: Int32Array;
  /** Its opcode id, `HOST_CALL` or `ZEROING_CALL`. */
  op: Int32Array;
  /** First site of each defined function, and one behind the last. */
  firstOfFunction: Int32Array;
  /**
   * Functions that hand out zeroed blocks, among the defined ones. Each of them is a site of its own behind all others, for
   * blocks that are asked for by calls which are not seen.
   */
  zeroing: readonly number[];
}

/**
 * Every place of a module that loads from memory 0 or stores to it, in code order. Store ids and load ids are numbers
 * from 1 in it. The module's description carries it to the reader.
 */
export interface SiteTable extends SitePlaces {
  length: number;
  /** Bytes per access, 0 where they differ. */
  bytes: Int32Array;
  siteClass: Int32Array;
  /** Number among the stores from 1, 0: does not store. */
  store: Int32Array;
  /** Number among the loads from 1, 0: does not load. */
  load: Int32Array;
  stores: number;
  loads: number;
}

/** How often loads and stores of a module ran in an earlier run: lists side by side, of those that did run. */
export interface SiteRuns {
  /** Where they are: code offsets, ascending. */
  offsets: readonly number[];
  runs: readonly number[];
}

/** Numbers the sites, and adds what follows from their instructions. */
export function siteTable(places: SitePlaces): SiteTable {
  const { op } = places;
  const { length } = op;
  const column = () => new Int32Array(length);
  const table = { bytes: column(), siteClass: column(), store: column(), load: column() };
  let [stores, loads] = [0, 0];
  for (let site = 0; site < length; site++) {
    const of = op[site];
    table.bytes[site] = ACCESS_BYTES[of] ?? 0;
    table.siteClass[site] = classOf(of);
    if (isStore(of)) table.store[site] = ++stores;
    if (isLoad(of)) table.load[site] = ++loads;
  }
  return { ...places, ...table, length, stores, loads };
}

const ATOMIC_IDS = 0x400;

function classOf(op: number): number {
  if (op === HOST_CALL) return SiteClass.Host;
  if (op === ZEROING_CALL) return SiteClass.Zeroed;
  if (op === Op.MEMORY_COPY) return SiteClass.Copy;
  if (op === Op.MEMORY_FILL || op === Op.MEMORY_INIT) return SiteClass.Fill;
  return op >= ATOMIC_IDS && op < ATOMIC_IDS + 0x100 ? SiteClass.Atomic : SiteClass.Plain;
}

function isStore(op: number): boolean {
  const kind = ACCESS_KIND[op] ?? AccessKind.None;
  return (
    kind === AccessKind.None ||
    kind === AccessKind.Store ||
    kind === AccessKind.Rmw ||
    kind === AccessKind.Cmpxchg
  );
}

function isLoad(op: number): boolean {
  const kind = ACCESS_KIND[op] ?? AccessKind.None;
  return kind === AccessKind.None ? op === Op.MEMORY_COPY : kind !== AccessKind.Store;
}

/** The table as the description has it: some two bytes per site, being distances from each site to the next, and opcodes. */
export function encodeSites({ offset, op, firstOfFunction, zeroing }: SitePlaces): Uint8Array {
  const functions = firstOfFunction.length - 1;
  const writer = new ByteWriter(op.length * 2 + functions + 16).u32Leb(functions).u32Leb(op.length);
  let last = 0;
  const write = (site: number): void => {
    writer.s32Leb(offset[site] - last).u32Leb(op[site] + MOST_CALLS);
    last = offset[site];
  };
  for (let defined = 0; defined < functions; defined++) {
    writer.u32Leb(firstOfFunction[defined + 1] - firstOfFunction[defined]);
    for (let site = firstOfFunction[defined]; site < firstOfFunction[defined + 1]; site++) write(site);
  }
  zeroing.forEach((defined, i) => {
    writer.u32Leb(defined);
    write(firstOfFunction[functions] + i);
  });
  return writer.finish();
}

/** Reads what `encodeSites` has written. */
export function decodeSites(bytes: Uint8Array): SiteTable {
  const reader = new ByteReader(bytes);
  const functions = reader.u32Leb();
  const length = reader.u32Leb();
  const [offset, op] = [new Int32Array(length), new Int32Array(length)];
  const firstOfFunction = new Int32Array(functions + 1);
  let [site, last] = [0, 0];
  const read = (): void => {
    last += reader.s32Leb();
    offset[site] = last;
    op[site++] = reader.u32Leb() - MOST_CALLS;
  };
  for (let defined = 0; defined < functions; defined++) {
    firstOfFunction[defined] = site;
    for (let left = reader.u32Leb(); left > 0; left--) read();
  }
  firstOfFunction[functions] = site;
  const zeroing: number[] = [];
  while (site < length) {
    zeroing.push(reader.u32Leb());
    read();
  }
  return siteTable({ offset, op, firstOfFunction, zeroing });
}
