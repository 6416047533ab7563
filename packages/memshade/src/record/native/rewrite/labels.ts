import type { ObjectFile } from "../../../code/objects/types.ts";
import { int32At } from "../../../ground/bytes/int32.ts";
import { type Code, TRAIT } from "./code.ts";
import { relocatedPointers } from "./dynamic.ts";
import { computedJumps, type JumpTable, jumpTables, relativeAddress } from "./jump-tables.ts";

/** An entry of a table that code does nothing with but jump there. */
export interface TableEntry {
  /** SVMA of the entry, and what it counts from: the table, or 0 */
  readonly address: number;
  readonly from: number;
  readonly bytes: 4 | 8;
  /** offset that it leads to */
  readonly target: number;
}

export interface Labels {
  /** For each function that has any: the offsets that its indirect jumps may lead to. */
  readonly ofFunction: ReadonlyMap<number, ReadonlySet<number>>;
  readonly entries: readonly TableEntry[];
  /** Indirect jumps (instructions) of which nothing is known. */
  readonly unknown: ReadonlySet<number>;
}

const PF_W = 2;
const POINTER_BYTES = 8;
const MOST_TABLE_BYTES = 1 << 30;

/**
 * Where control may arrive by an address that was computed: entries of jump tables, and whatever else points into a function. Each is
 * marked in the code.
 *
 * Tables are guessed: numbers that lead to instructions of the function that reads them. What is no table costs nothing but a place
 * that could be a leader and is none.
 */
export function findLabels(code: Code, object: ObjectFile): Labels {
  const ofFunction = new Map<number, Set<number>>();
  const add = (owner: number, offset: number): void => {
    code.mark(offset, TRAIT.leader | TRAIT.label);
    const known = ofFunction.get(owner);
    if (known === undefined) ofFunction.set(owner, new Set([offset]));
    else known.add(offset);
  };
  for (const address of object.symbols().addresses)
    code.mark(address - code.base, TRAIT.leader | TRAIT.label);
  for (const address of relocatedPointers(object)) {
    const offset = address - code.base;
    const owner = code.instructionAt(offset) < 0 ? -1 : code.functionAround(offset);
    if (owner >= 0 && code.functions[owner].start !== offset) add(owner, offset);
  }
  const areFixed = object.type === "executable";
  const unknown = new Set(computedJumps(code, areFixed));
  const tables = [...jumpTables(code, areFixed)];
  // A table ends where the next one begins at the latest.
  tables.sort((a, b) => b.address - a.address);
  const entries = new Map<number, TableEntry>();
  const references = dataReferences(code);
  let last = Number.POSITIVE_INFINITY;
  let end = Number.POSITIVE_INFINITY;
  for (const table of tables) {
    if (table.address !== last) end = last;
    last = table.address;
    let isCertain = table.isCertain && isReadOnly(object, table.address);
    for (const entry of entriesOf(table, end, code, object)) {
      add(table.owner, entry.target);
      if (entry.address === table.address) for (const jump of table.jumps) unknown.delete(jump);
      isCertain &&= entry.address === table.address || !isReferenced(references, entry);
      // Data may follow that looks like distances: such numbers hardly lead to the same function. And others may call a function by its
      // address, and compare that.
      const isOwn = entry.bytes === POINTER_BYTES || code.functionAround(entry.target) === table.owner;
      if (isCertain && isOwn && code.functionAt(entry.target) < 0) entries.set(entry.address, entry);
    }
  }
  return { ofFunction, entries: [...entries.values()], unknown };
}

function* entriesOf(table: JumpTable, end: number, code: Code, object: ObjectFile): Iterable<TableEntry> {
  const { address, owner, bytes: size, origin, jumps } = table;
  const { start: functionStart, end: functionEnd } = code.functions[owner];
  const isInside = (offset: number): boolean => offset >= functionStart && offset < functionEnd;
  // An address inside of code is one of code, not of a table.
  if (code.instructionAt(address - code.base) >= 0) {
    const target = address - code.base;
    if (isInside(target) && target !== functionStart) yield { address, from: origin, bytes: size, target };
    return;
  }
  const bytes = object.bytesAt(address, Math.min(end - address, MOST_TABLE_BYTES));
  for (let at = address; at + size <= address + bytes.length; at += size) {
    const low = int32At(bytes, at - address);
    const value = size === 8 ? (low >>> 0) + int32At(bytes, at - address + 4) * 2 ** 32 : origin + low;
    const target = value - code.base;
    // Cold parts of a function are functions of their own. Distances from a label are small numbers, as others are too.
    const isFromLabel = size === 4 && origin !== address;
    const isGuess = at === address && jumps.length === 0;
    if (code.instructionAt(target) < 0 || ((isFromLabel || isGuess) && !isInside(target))) return;
    yield { address: at, from: origin, bytes: size, target };
  }
}

/** Addresses of data that code reaches relative to itself. */
function dataReferences(code: Code): Set<number> {
  const references = new Set<number>();
  const end = code.base + code.bytes.length;
  for (let i = 0; i < code.count; i++) {
    if (code.relativeAt[i] === 0) continue;
    const address = relativeAddress(code, i);
    if (address < code.base || address >= end) references.add(address);
  }
  return references;
}

function isReferenced(references: ReadonlySet<number>, { address, bytes }: TableEntry): boolean {
  for (let at = address; at < address + bytes; at++) if (references.has(at)) return true;
  return false;
}

function isReadOnly({ segments }: ObjectFile, address: number): boolean {
  const around = segments.find((one) => address >= one.address && address < one.address + one.fileSize);
  return around !== undefined && (around.flags & PF_W) === 0;
}
