import { ACCESS_BYTES, ACCESS_KIND, AccessKind } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

export const SiteClass = {
  Plain: 0,
  /** Atomic loads, stores, read-modify-writes, waits. */
  Atomic: 1,
  Copy: 2,
  Fill: 3,
  /** Call of an imported function, which may write to memory. */
  Host: 4,
  /**
   * Call of a function that hands out zeroed blocks. Calls that are not in the table count at that function's first
   * instruction.
   */
  Zeroed: 5,
} as const;

export const SITE_CLASS_NAMES = ["plain", "atomic", "copy", "fill", "host", "calloc"] as const;

/** Numbers instead of an opcode: call of an imported function, and call of a function that hands out zeroed blocks. */
export const HOST_CALL = -1;
export const ZEROING_CALL = -2;
const MOST_CALLS = 2;

interface SitePlaces {
  /** Offset of each instruction in the code section's payload. */
  offset: Int32Array;
  op: Int32Array;
  /** First site of each defined function, and the end of the last one's sites. */
  firstOfFunction: Int32Array;
  /**
   * Functions that hand out zeroed blocks, as indices of defined functions. Each has an extra site after all others,
   * for calls that are not in the table.
   */
  zeroing: readonly number[];
}

/**
 * Instructions of a module that load from memory 0 or store to it, in code order. The module's description passes them
 * to the reader.
 */
export interface SiteTable extends SitePlaces {
  length: number;
  /** Bytes per access, 0 if they vary. */
  bytes: Int32Array;
  siteClass: Int32Array;
  /** Number among the stores, from 1; 0 if the site does not store. */
  store: Int32Array;
  /** Number among the loads, from 1; 0 if the site does not load. */
  load: Int32Array;
  stores: number;
  loads: number;
}

/** Runs of the loads and stores of a module in an earlier run. Sites that did not run are left out. */
export interface SiteRuns {
  /** Code offsets, ascending. */
  offsets: readonly number[];
  runs: readonly number[];
}

export function siteTable(places: SitePlaces): SiteTable {
  const { op } = places;
  const { length } = op;
  const column = () => new Int32Array(length);
  const table = { bytes: column(), siteClass: column(), store: column(), load: column() };
  let [stores, loads] = [0, 0];
  for (let site = 0; site < length; site++) {
    const opcode = op[site];
    table.bytes[site] = ACCESS_BYTES[opcode] ?? 0;
    table.siteClass[site] = classOf(opcode);
    if (isStore(opcode)) table.store[site] = ++stores;
    if (isLoad(opcode)) table.load[site] = ++loads;
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

/**
 * Encodes the table for the description, in about two bytes per site: the distance to the previous site, and the
 * opcode.
 */
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
    for (let remaining = reader.u32Leb(); remaining > 0; remaining--) read();
  }
  firstOfFunction[functions] = site;
  const zeroing: number[] = [];
  while (site < length) {
    zeroing.push(reader.u32Leb());
    read();
  }
  return siteTable({ offset, op, firstOfFunction, zeroing });
}
