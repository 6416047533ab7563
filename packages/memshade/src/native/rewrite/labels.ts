import type { ObjectFile } from "../../objects/types.ts";
import { decode, FLOW, Instruction, NO_REGISTER } from "../../x64/decode/index.ts";
import { type Code, MARK } from "./code.ts";
import { relocatedPointers } from "./dynamic.ts";

const TABLE_ENTRY = 4;
const POINTER = 8;

/**
 * Where control may arrive by an address that was computed: entries of jump tables, and whatever else points into a function. Each is
 * marked in the code.
 *
 * Tables are guessed: numbers that lead to instructions of the function that reads them. What is no table costs nothing but a place
 * that could be a leader and is none.
 *
 * @returns for each function that has any: the offsets that its indirect jumps may lead to
 */
export function findLabels(code: Code, object: ObjectFile): Map<number, Set<number>> {
  const labels = new Map<number, Set<number>>();
  const add = (owner: number, offset: number): void => {
    code.mark(offset, MARK.leader | MARK.label);
    const known = labels.get(owner);
    if (known === undefined) labels.set(owner, new Set([offset]));
    else known.add(offset);
  };
  for (const address of object.symbols().addresses) code.mark(address - code.base, MARK.leader | MARK.label);
  for (const address of relocatedPointers(object)) {
    const offset = address - code.base;
    const owner = code.instructionAt(offset) < 0 ? -1 : code.functionAround(offset);
    if (owner >= 0 && code.functions[owner].start !== offset) add(owner, offset);
  }
  const tables =
    object.type === "executable" ? [...relativeTables(code), ...absoluteTables(code)] : relativeTables(code);
  // A table ends where the next one begins at the latest.
  tables.sort((a, b) => b.address - a.address);
  let last = Number.POSITIVE_INFINITY;
  let end = Number.POSITIVE_INFINITY;
  for (const table of tables) {
    if (table.address !== last) end = last;
    last = table.address;
    for (const offset of targetsOf(table, end, code, object)) add(table.owner, offset);
  }
  return labels;
}

interface Table {
  /** SVMA */
  address: number;
  /** the function that reads it */
  owner: number;
  /** entries are addresses, not distances from the table */
  isAbsolute: boolean;
}

/** What functions with indirect jumps take the address of, relative to the instruction. */
function relativeTables(code: Code): Table[] {
  const tables: Table[] = [];
  const { bytes } = code;
  code.functions.forEach(({ first, last }, owner) => {
    if (!code.flows.subarray(first, last).includes(FLOW.indirectJump)) return;
    for (let i = first; i < last; i++) {
      const at = code.relativeAt[i];
      if (at === 0) continue;
      const from = code.offsets[i] + at;
      const distance =
        bytes[from] | (bytes[from + 1] << 8) | (bytes[from + 2] << 16) | (bytes[from + 3] << 24);
      const address = code.base + code.offsets[i] + code.lengths[i] + distance;
      tables.push({ address, owner, isAbsolute: false });
    }
  });
  return tables;
}

/** Places `table + 8 · register` of code that lies at fixed addresses. */
function absoluteTables(code: Code): Table[] {
  const tables: Table[] = [];
  const instruction = new Instruction();
  code.functions.forEach(({ first, last }, owner) => {
    if (!code.flows.subarray(first, last).includes(FLOW.indirectJump)) return;
    for (let i = first; i < last; i++) {
      if (code.traits[i] === 0) continue;
      decode(code.bytes, code.offsets[i], instruction);
      const { base, index, scale, displacement } = instruction;
      if (base !== NO_REGISTER || index === NO_REGISTER || scale !== POINTER) continue;
      tables.push({ address: displacement, owner, isAbsolute: true });
    }
  });
  return tables;
}

function* targetsOf(
  { address, owner, isAbsolute }: Table,
  end: number,
  code: Code,
  object: ObjectFile,
): Iterable<number> {
  const size = isAbsolute ? POINTER : TABLE_ENTRY;
  const { start: functionStart, end: functionEnd } = code.functions[owner];
  const isInside = (offset: number): boolean => offset >= functionStart && offset < functionEnd;
  // An address inside of code is one of code, not of a table.
  if (code.instructionAt(address - code.base) >= 0) {
    if (isInside(address - code.base) && address - code.base !== functionStart) yield address - code.base;
    return;
  }
  for (let at = address, isFirst = true; at + size <= end; at += size) {
    const bytes = object.bytesAt(at, size);
    if (bytes.length < size) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, size);
    const target = isAbsolute
      ? view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32
      : address + view.getInt32(0, true);
    const offset = target - code.base;
    if (code.instructionAt(offset) < 0 || (isFirst && !isInside(offset))) return;
    // Cold parts of a function are functions of their own.
    yield offset;
    isFirst = false;
  }
}
