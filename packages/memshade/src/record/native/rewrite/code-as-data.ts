import type { ObjectFile } from "../../../code/objects/types.ts";
import {
  decode,
  FLOW,
  hasTarget,
  INSTRUCTION_POINTER,
  Instruction,
  READ,
} from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS, R8, R9, RBP, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { int32At, viewOf } from "../../../ground/bytes/numbers.ts";
import { LINE_BYTES } from "../../../ground/bytes/sizes.ts";
import { AddressFlow, OPCODE, SUMS } from "./address-flow.ts";
import { type Code, type CodeFunction, endsPath } from "./code.ts";
import { pointersIn } from "./dynamic.ts";
import { relativeAddress } from "./jump-tables.ts";
import { systemCallNumber } from "./watched-system-calls.ts";

/**
 * Number of instructions to search from the target of a call. Code that uses its return address takes it at
 * once.
 */
const MOST_STEPS = 24;

/**
 * Returns functions that must stay unchanged because their code is also data, as far as the code shows this.
 * Some callees find data by their return address; other code reads or copies instructions.
 * @returns their addresses (SVMA)
 */
export function functionsThatAreData(code: Code, object: ObjectFile): Set<number> {
  const imported = importedFunctions(object);
  const found = new Set<number>();
  const takers = new Takers(code);
  const pointers = new FunctionPointers(code, object);
  const add = ({ start }: CodeFunction): unknown => found.add(code.base + start);
  const addLines = (range: Range): void => functionsInLines(code, range).forEach(add);
  for (const codeFunction of code.functions) {
    for (const gap of dataBetween(code, codeFunction)) addLines(gap);
    const addresses = codeAddresses(code, codeFunction);
    for (let i = codeFunction.first; i < codeFunction.last; i++) {
      const isTaken = code.flows[i] === FLOW.call && takers.has(code.targets[i]);
      if (isTaken || leadsBetween(code, codeFunction, i)) add(codeFunction);
    }
    if ([...addresses.values()].some((target) => takers.has(code.offsets[target]))) add(codeFunction);
    const targets = [...addresses.values()].sort((a, b) => a - b);
    const addRead = (read: number): void => {
      // A read usually ends where the next known address begins.
      const end = targets.find((target) => target > read);
      functionsBetween(code, read, end).forEach(addLines);
    };
    for (const read of readInstructions(code, codeFunction)) addRead(read);
    const loaded = pointers.loadedBy(codeFunction);
    for (const source of readByAddress(
      code,
      codeFunction,
      new Set([...addresses.keys(), ...loaded.keys()]),
      imported,
    )) {
      const read = addresses.get(source);
      if (read !== undefined) addRead(read);
      else for (const f of pointers.functionsOf(loaded.get(source)!)) addLines(code.functions[f]);
    }
  }
  return found;
}

/** Offsets `[start, end)`. */
type Range = Pick<CodeFunction, "start" | "end">;

/** Returns the functions with bytes in the same lines of memory as a range. */
function functionsInLines(code: Code, { start, end }: Range): CodeFunction[] {
  const { base, functions } = code;
  // Tools record reads by lines or finer. A jump written into a line that is read would be seen as a change.
  const lineOf = (offset: number): number => Math.floor((base + offset) / LINE_BYTES);
  let first = code.lastFunction(start) + 1;
  let last = code.lastFunction(end - 1);
  while (first > 0 && lineOf(functions[first - 1].end - 1) >= lineOf(start)) first--;
  while (last + 1 < functions.length && lineOf(functions[last + 1].start) <= lineOf(end - 1)) last++;
  return functions.slice(first, last + 1);
}

/**
 * Yields ranges between functions whose address a function takes: data, or code without frames. Reads may
 * continue behind them.
 */
function* dataBetween(code: Code, { first, last }: CodeFunction): Iterable<Range> {
  const { functions, relativeAt, opcodes } = code;
  for (let i = first; i < last; i++) {
    if (relativeAt[i] === 0 || opcodes[i] !== LEA) continue;
    const offset = relativeAddress(code, i) - code.base;
    if (offset < 0 || offset >= code.bytes.length || code.functionAround(offset) >= 0) continue;
    const before = code.lastFunction(offset);
    yield { start: functions[before]?.end ?? 0, end: functions[before + 1]?.start ?? code.bytes.length };
  }
}

/** Returns the function of instruction `from`, and all functions between it and instruction `to`. */
function functionsBetween(code: Code, from: number, to: number | undefined): CodeFunction[] {
  const first = code.functionAround(code.offsets[from]);
  const end = to === undefined ? first + 1 : code.functionAround(code.offsets[to]);
  return code.functions.slice(first, Math.max(end, first + 1));
}

/**
 * Returns true if a jump or call leads into the middle of a supposed instruction of the same function, which
 * is data then.
 */
function leadsBetween(code: Code, { start, end }: CodeFunction, i: number): boolean {
  if (!hasTarget(code.flows[i])) return false;
  const target = code.targets[i];
  if (target < start || target >= end || code.instructionAt(target) >= 0) return false;
  // Some code jumps over a `lock` prefix in programs with one thread.
  return code.bytes[target - 1] !== LOCK;
}

/** Yields instructions that a function reads by a rip-relative access. */
function* readInstructions(code: Code, { first, last }: CodeFunction): Iterable<number> {
  for (let i = first; i < last; i++) {
    if (code.relativeAt[i] === 0 || code.flows[i] !== FLOW.next || code.opcodes[i] === LEA) continue;
    const target = code.instructionAt(relativeAddress(code, i) - code.base);
    if (target >= 0) yield target;
  }
}

/** Caches whether the target of a call uses its return address to find something. */
class Takers {
  readonly #code: Code;
  readonly #results = new Map<number, boolean>();

  constructor(code: Code) {
    this.#code = code;
  }

  /** @param entry offset of the callee, which may be code without frames, such as assembly code */
  has(entry: number): boolean {
    const result = this.#results.get(entry);
    if (result !== undefined) return result;
    const takes = takesReturnAddress(this.#code, entry);
    this.#results.set(entry, takes);
    return takes;
  }
}

function takesReturnAddress({ bytes }: Code, entry: number): boolean {
  /**
   * `depth`: bytes from the stack pointer up to the return address; `holders`: registers that contain the
   * return address.
   */
  let depth = 0;
  let holders = 0;
  let isPopped = false;
  let at = entry;
  for (let step = 0; step < MOST_STEPS; step++, at += instruction.length) {
    if (!isInstruction(bytes, at)) return false;
    const { opcode, flow, reads, writes, base, index, displacement, access } = instruction;
    const isHeld = (reads & holders) !== 0;
    // A locked instruction on the stack is a fence without effect.
    const onSlot =
      !instruction.locked &&
      access !== 0 &&
      base === RSP.number &&
      index < 0 &&
      displacement === depth &&
      opcode !== LEA;
    const register = opcode & OF_REGISTER;
    if (flow === FLOW.indirectJump || flow === FLOW.return) return false;
    if (flow !== FLOW.next) return isPopped && holders !== 0;
    if (register === PUSH) {
      if (isHeld) return false;
      depth += 8;
    } else if (register === POP) {
      const to = writes & ~bit(RSP.number);
      holders &= ~to;
      if (depth === 0) {
        holders |= to;
        isPopped = true;
      }
      if (depth < 0) return isPopped;
      depth -= 8;
    } else if (onSlot) {
      // The return address is read, changed or exchanged. A write alone returns elsewhere.
      if (opcode === MOV_FROM) holders |= writes;
      else return opcode !== MOV_TO && ((access & READ) !== 0 || opcode === XCHG);
    } else if (isHeld) {
      const isMove = (opcode === MOV_TO || opcode === MOV_FROM) && access === 0;
      if (isMove) holders |= writes;
      else if (((bit(base) | bit(index)) & holders) !== 0 || (writes & holders) !== 0) return true;
    } else {
      if ((writes & bit(RSP.number)) !== 0) {
        const constant = constantOf(bytes, at);
        if (constant === undefined) return false;
        depth += constant;
      }
      holders &= ~writes;
    }
  }
  return isPopped && holders !== 0;
}

function isInstruction(bytes: Uint8Array, at: number): boolean {
  if (at < 0 || at >= bytes.length) return false;
  try {
    decode(bytes, at, instruction);
    return true;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

const RELA_BYTES = 24;
const SYMBOL_BYTES = 24;
const [R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT] = [6, 7];

/**
 * Returns names of functions of other objects, by the address (SVMA) of the word that the dynamic linker
 * fills in.
 */
export function importedFunctions(object: ObjectFile): Map<number, string> {
  const names = new Map<number, string>();
  const symbols = contentOf(object, ".dynsym");
  const strings = contentOf(object, ".dynstr");
  for (const section of [".rela.plt", ".rela.dyn"]) {
    const relocations = contentOf(object, section);
    const view = viewOf(relocations);
    for (let at = 0; at + RELA_BYTES <= relocations.length; at += RELA_BYTES) {
      const type = view.getUint32(at + 8, true);
      if (type !== R_X86_64_GLOB_DAT && type !== R_X86_64_JUMP_SLOT) continue;
      const symbol = view.getUint32(at + 12, true) * SYMBOL_BYTES;
      if (symbol + SYMBOL_BYTES > symbols.length) continue;
      const name = new DataView(symbols.buffer, symbols.byteOffset + symbol).getUint32(0, true);
      const end = strings.indexOf(0, name);
      names.set(Number(view.getBigUint64(at, true)), new TextDecoder().decode(strings.subarray(name, end)));
    }
  }
  return names;
}

function contentOf(object: ObjectFile, name: string): Uint8Array {
  const section = object.sections.find((section) => section.name === name);
  return section === undefined ? new Uint8Array() : object.bytesAt(section.address, section.size);
}

const [MOVS_BYTES, MOVS] = [0xa4, 0xa5];
/** System calls that read memory by rsi: `write`, `pwrite64`, `sendto`. */
const SENDING: ReadonlySet<number> = new Set([1, 18, 44]);
const ARGUMENTS = [RDI, RSI, RDX, RCX, R8, R9].map(({ number }) => number);
const bit = (register: number): number => (register >= 0 && register < 16 ? 1 << register : 0);
const instruction = new Instruction();
/** Functions that read memory by their arguments, and the numbers of these arguments. */
const READERS: ReadonlyMap<string, readonly number[]> = new Map(
  Object.entries({
    memcpy: [1],
    memmove: [1],
    mempcpy: [1],
    memcmp: [0, 1],
    bcmp: [0, 1],
    bcopy: [0],
    memchr: [0],
    __memcpy_chk: [1],
    __memmove_chk: [1],
    __mempcpy_chk: [1],
    memmem: [0, 2],
    memccpy: [1],
    write: [1],
    pwrite: [1],
    pwrite64: [1],
    fwrite: [0],
    send: [1],
    sendto: [1],
    crc32: [1],
    crc32_z: [1],
    adler32: [1],
    adler32_z: [1],
    XXH32: [0],
    XXH64: [0],
    XXH3_64bits: [0],
    MD5: [0],
    MD5_Update: [1],
    SHA1: [0],
    SHA1_Update: [1],
    SHA256: [0],
    SHA256_Update: [1],
    SHA512: [0],
    SHA512_Update: [1],
    EVP_Digest: [0],
    EVP_DigestUpdate: [1],
    HMAC_Update: [1],
    BIO_write: [1],
    gcry_md_hash_buffer: [2],
    gcry_md_write: [1],
  }),
);

/** Returns registers with addresses that an instruction reads, or that its callee reads. */
function registersRead(code: Code, i: number, imported: ReadonlyMap<number, string>): number[] {
  const flow = code.flows[i];
  if (flow === FLOW.call || flow === FLOW.indirectCall) return argumentsRead(code, i, imported);
  if (flow === FLOW.systemCall) return SENDING.has(systemCallNumber(code, i) ?? -1) ? [RSI.number] : [];
  if (flow !== FLOW.next) return [];
  decode(code.bytes, code.offsets[i], instruction);
  const { access, base, index, opcode, displacement, operandSize } = instruction;
  if (opcode === MOVS || opcode === MOVS_BYTES) return [RSI.number];
  if (becomesStack()) return [31 - Math.clz32(instruction.reads & 0xffff)];
  if ((access & READ) === 0 || base === INSTRUCTION_POINTER) return [];
  // A pointer to a virtual member function is an offset plus one, so this reads a table and not code.
  if (index >= 0 && displacement === -1 && operandSize === 8) return [];
  return [base, index].filter((register) => register >= 0 && register !== RSP.number);
}

/**
 * Returns true if the last decoded instruction sets the stack pointer from a register; the bytes there are
 * read then.
 */
function becomesStack(): boolean {
  const { access, opcode, writes } = instruction;
  return (
    access === 0 && (opcode === OPCODE.movTo || opcode === OPCODE.movFrom) && (writes & bit(RSP.number)) !== 0
  );
}

function argumentsRead(code: Code, i: number, imported: ReadonlyMap<number, string>): number[] {
  const name = imported.get(slotOfCall(code, i) ?? -1);
  if (name !== undefined) return (READERS.get(name) ?? []).map((number) => ARGUMENTS[number]);
  if (code.flows[i] !== FLOW.call) return [];
  const target = code.targets[i];
  const callee = code.functionAt(target);
  // Code without frames may read by every argument.
  if (callee < 0) return isUnknown(code, target) ? ARGUMENTS : [];
  return ARGUMENTS.filter((register) => isReadFrom(code, code.functions[callee], register));
}

function isUnknown(code: Code, target: number): boolean {
  const isInside = target >= 0 && target < code.bytes.length && code.functionAround(target) < 0;
  return isInside && !code.stubs.has(target);
}

/** Returns the address (SVMA) of the word that holds the target of a call, if it is constant. */
export function slotOfCall(code: Code, i: number): number | undefined {
  if (code.flows[i] === FLOW.call) return code.stubs.slotOf(code.targets[i]);
  return code.relativeAt[i] === 0 ? undefined : relativeAddress(code, i);
}

const reader = new Instruction();

/**
 * Returns true if a function reads by an argument: directly, or after storing it on the stack relative to
 * rbp.
 */
function isReadFrom(code: Code, { first, last }: CodeFunction, argument: number): boolean {
  let holders = bit(argument);
  const places = new Set<number>();
  for (let i = first; i < last; i++) {
    decode(code.bytes, code.offsets[i], reader);
    const { access, base, index, displacement, opcode, writes, reads, flow } = reader;
    if ((access & READ) !== 0 && flow === FLOW.next && ((bit(base) | bit(index)) & holders) !== 0)
      return true;
    const isPlace = access !== 0 && base === RBP.number && index < 0;
    const isHeld = (reads & holders) !== 0;
    if (isPlace && opcode === OPCODE.movTo && isHeld) places.add(displacement);
    if (isPlace && opcode === OPCODE.movFrom && places.has(displacement)) holders |= writes;
    else if (access === 0 && (opcode === OPCODE.movTo || opcode === OPCODE.movFrom) && isHeld)
      holders |= writes;
    else if (!SUMS.has(opcode) || access !== 0 || !isHeld) holders &= ~writes;
    if (flow === FLOW.call || flow === FLOW.indirectCall || endsPath(flow)) {
      // After a call, only registers that calls preserve still hold the argument.
      holders &= KEPT_BY_CALLS;
      if (endsPath(flow)) holders = 0;
      if (holders === 0 && places.size === 0) return false;
    }
  }
  return false;
}

const OF_REGISTER = ~7;
const [POINTER_BYTES, ADDRESS_BYTES] = [8, 4];

/** A pointer that an instruction loads from a fixed address, or from a table that begins there. */
interface LoadedPointer {
  readonly place: number;
  readonly isInTable: boolean;
}

/** Pointers to functions in an object's data, and instructions that load them. */
class FunctionPointers {
  readonly #code: Code;
  readonly #areFixed: boolean;
  /** Functions by the address (SVMA) of a pointer to them. */
  readonly #functions = new Map<number, number>();
  /** Sorted addresses of data that code refers to, and the ones where tables of such pointers begin. */
  readonly #references: Float64Array;
  readonly #tables: ReadonlySet<number>;

  constructor(code: Code, object: ObjectFile) {
    this.#code = code;
    this.#areFixed = object.type === "executable";
    for (const { place, address } of pointersIn(object)) {
      const f = code.functionAt(address - code.base);
      if (f >= 0) this.#functions.set(place, f);
    }
    this.#references = this.#findReferences();
    this.#tables = this.#findTables();
  }

  /** Returns the instructions of a function that load a pointer to a function. */
  loadedBy(codeFunction: CodeFunction): Map<number, LoadedPointer> {
    const { bytes, offsets, lengths } = this.#code;
    const tables = new Map<number, number>();
    for (let i = codeFunction.first; i < codeFunction.last; i++) {
      const address = this.#addressPut(i);
      if (address >= 0 && this.#tables.has(address)) tables.set(i, address);
    }
    const found = new Map<number, LoadedPointer>();
    const flow = new AddressFlow(this.#code, codeFunction, new Set(tables.keys()));
    for (let i = codeFunction.first; i < codeFunction.last; i++) {
      if (this.#code.opcodes[i] !== OPCODE.movFrom) continue;
      const isRelative = this.#code.relativeAt[i] !== 0;
      // The last bytes of the instruction may be the address of a table.
      const address = isRelative
        ? relativeAddress(this.#code, i)
        : int32At(bytes, offsets[i] + lengths[i] - ADDRESS_BYTES);
      if (!this.#functions.has(address) && (isRelative || tables.size === 0)) continue;
      decode(bytes, offsets[i], instruction);
      const { opcode, access, operandSize, base, index, displacement } = instruction;
      if (opcode !== OPCODE.movFrom || access === 0 || operandSize !== POINTER_BYTES) continue;
      const registers = isRelative ? [] : [base, index].filter((each) => each >= 0);
      let place = isRelative ? relativeAddress(this.#code, i) : displacement;
      if (tables.size > 0) {
        const source = registers.map((register) => flow.sourceOf(register, i)).find((at) => at >= 0);
        // After a step to the next pointer, a negative displacement reaches the previous one.
        if (source !== undefined) place = tables.get(source)! + Math.max(displacement, 0);
      }
      if (this.#functions.has(place)) found.set(i, { place, isInTable: registers.length > 0 });
    }
    return found;
  }

  /**
   * Yields the functions that a loaded pointer may refer to. A table ends at the next address that code
   * refers to, or later while pointers follow each other.
   */
  *functionsOf({ place, isInTable }: LoadedPointer): Iterable<number> {
    let end = place + POINTER_BYTES;
    if (isInTable) {
      while (this.#functions.has(end)) end += POINTER_BYTES;
      end = Math.max(end, this.#references.find((address) => address > place) ?? Number.POSITIVE_INFINITY);
    }
    for (const [at, f] of this.#functions) if (at >= place && at < end) yield f;
  }

  /** Returns the address of data that an instruction puts into a register, or −1. */
  #addressPut(i: number): number {
    const { opcodes, relativeAt, lengths, offsets, bytes } = this.#code;
    if (relativeAt[i] !== 0) return opcodes[i] === OPCODE.lea ? relativeAddress(this.#code, i) : -1;
    const isConstant = (opcodes[i] & OF_REGISTER) === OPCODE.movConstant && lengths[i] > ADDRESS_BYTES;
    return this.#areFixed && isConstant ? int32At(bytes, offsets[i] + lengths[i] - ADDRESS_BYTES) >>> 0 : -1;
  }

  #findReferences(): Float64Array {
    const { count, relativeAt } = this.#code;
    const found = new Set<number>();
    for (let i = 0; i < count; i++) {
      const address = relativeAt[i] === 0 ? this.#addressPut(i) : relativeAddress(this.#code, i);
      if (address >= 0) found.add(address);
    }
    return Float64Array.from(found).sort();
  }

  #findTables(): Set<number> {
    const places = Float64Array.from(this.#functions.keys()).sort();
    const tables = new Set<number>();
    let next = 0;
    for (const [i, address] of this.#references.entries()) {
      while (places[next] < address) next++;
      if (places[next] < (this.#references[i + 1] ?? Number.POSITIVE_INFINITY)) tables.add(address);
    }
    return tables;
  }
}

const { lea: LEA, movTo: MOV_TO, movFrom: MOV_FROM, movConstant: MOV_CONSTANT } = OPCODE;
const XCHG = 0x87;
const [PUSH, POP] = [0x50, 0x58];
/** Opcodes of arithmetic with a constant. */
const [CONSTANT_8, CONSTANT_32] = [0x83, 0x81];
const LOCK = 0xf0;

/** Returns by how much `sub` or `add` with a constant lowers the stack pointer. */
function constantOf(bytes: Uint8Array, at: number): number | undefined {
  const { opcode, modRmAt, access, length } = instruction;
  if (access !== 0 || (opcode !== CONSTANT_8 && opcode !== CONSTANT_32)) return undefined;
  const digit = (bytes[at + modRmAt] >> 3) & 7;
  const end = at + length;
  const constant = opcode === CONSTANT_8 ? (bytes[end - 1] << 24) >> 24 : int32At(bytes, end - 4);
  if (digit === 5) return constant;
  return digit === 0 ? -constant : undefined;
}

/**
 * Returns instructions that put an address of code into a register, with the instructions at these addresses.
 */
function codeAddresses(code: Code, { first, last }: CodeFunction): Map<number, number> {
  const found = new Map<number, number>();
  for (let i = first; i < last; i++) {
    const at = code.offsets[i];
    let target = -1;
    if (code.relativeAt[i] !== 0 && code.opcodes[i] === LEA)
      target = code.instructionAt(relativeAddress(code, i) - code.base);
    else if ((code.opcodes[i] & OF_REGISTER) === MOV_CONSTANT && code.lengths[i] - 5 <= 1) {
      const start = (int32At(code.bytes, at + code.lengths[i] - 4) >>> 0) - code.base;
      if (code.functionAt(start) >= 0) target = code.instructionAt(start);
    }
    if (target >= 0) found.set(i, target);
  }
  return found;
}

/**
 * Yields instructions that put an address into a register by which the function reads, or passes to a
 * function that reads there.
 */
function* readByAddress(
  code: Code,
  codeFunction: CodeFunction,
  sources: ReadonlySet<number>,
  imported: ReadonlyMap<number, string>,
): Iterable<number> {
  if (sources.size === 0) return;
  const flow = new AddressFlow(code, codeFunction, sources);
  for (let i = codeFunction.first; i < codeFunction.last; i++)
    for (const register of registersRead(code, i, imported)) {
      const source = flow.sourceOf(register, i);
      if (source >= 0) yield source;
    }
}
