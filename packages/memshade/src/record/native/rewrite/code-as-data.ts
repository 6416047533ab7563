import type { ObjectFile } from "../../../code/objects/types.ts";
import { decode, FLOW, hasTarget, Instruction, READ } from "../../../code/x64/decode/index.ts";
import { RSP } from "../../../code/x64/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { int32At } from "../../../ground/bytes/int32.ts";
import { AddressFlow, OPCODE } from "./address-flow.ts";
import type { Code, CodeFunction } from "./code.ts";
import { FunctionPointers } from "./function-pointers.ts";
import { importedFunctions } from "./imported-functions.ts";
import { relativeAddress } from "./jump-tables.ts";
import { registersRead } from "./memory-readers.ts";

const { lea: LEA, movTo: MOV_TO, movFrom: MOV_FROM, movConstant: MOV_CONSTANT } = OPCODE;
const XCHG = 0x87;
const [PUSH, POP] = [0x50, 0x58];
/** Of opcodes whose last three bits are a register: the rest, as far as the map. */
const OF_REGISTER = ~7;
/** `add`, `sub` and so on with a constant. */
const [CONSTANT_8, CONSTANT_32] = [0x83, 0x81];
const LOCK = 0xf0;
/** Tools note by such lines, or more exactly, what is read: a jump in a line would be taken for read. */
const LINE_BYTES = 64;
/** Instructions that are looked at from where a call leads: who wants its return address takes it at once. */
const MOST_STEPS = 24;

/**
 * Functions that are to stay as they are because their code is data, too, as far as that shows in the code itself: calls must come from
 * where what is found by their return addresses stands, and whoever reads or copies instructions is to find those of the file.
 *
 * @returns their addresses (SVMA)
 */
export function functionsThatAreData(code: Code, object: ObjectFile): Set<number> {
  const imported = importedFunctions(object);
  const found = new Set<number>();
  const takers = new Takers(code);
  const pointers = new FunctionPointers(code, object);
  const add = ({ start }: CodeFunction): unknown => found.add(code.base + start);
  const addLines = (range: Range): void => functionsInLines(code, range).forEach(add);
  for (const one of code.functions) {
    for (const gap of dataBetween(code, one)) addLines(gap);
    const addresses = codeAddresses(code, one);
    for (let i = one.first; i < one.last; i++) {
      const isTaken = code.flows[i] === FLOW.call && takers.has(code.targets[i]);
      if (isTaken || leadsBetween(code, one, i)) add(one);
    }
    if ([...addresses.values()].some((target) => takers.has(code.offsets[target]))) add(one);
    const targets = [...addresses.values()].sort((a, b) => a - b);
    const addRead = (read: number): void => {
      // What is read ends where another address is known, as a rule.
      const end = targets.find((target) => target > read);
      functionsBetween(code, read, end).forEach(addLines);
    };
    for (const read of readInstructions(code, one)) addRead(read);
    const loaded = pointers.loadedBy(one);
    for (const source of readByAddress(
      code,
      one,
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

/** Functions of which something lies in the same lines of memory. */
function functionsInLines(code: Code, { start, end }: Range): CodeFunction[] {
  const { base, functions } = code;
  const lineOf = (offset: number): number => Math.floor((base + offset) / LINE_BYTES);
  let first = code.lastFunction(start) + 1;
  let last = code.lastFunction(end - 1);
  while (first > 0 && lineOf(functions[first - 1].end - 1) >= lineOf(start)) first--;
  while (last + 1 < functions.length && lineOf(functions[last + 1].start) <= lineOf(end - 1)) last++;
  return functions.slice(first, last + 1);
}

/** What lies between functions and has its address taken by one: data, and code without frames. Reads there may go on behind it. */
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

/** The function of an instruction, and those that follow it up to another one. */
function functionsBetween(code: Code, from: number, to: number | undefined): CodeFunction[] {
  const first = code.functionAround(code.offsets[from]);
  const end = to === undefined ? first + 1 : code.functionAround(code.offsets[to]);
  return code.functions.slice(first, Math.max(end, first + 1));
}

/** Whether a jump or call leads into the middle of what was taken for an instruction of the same function: that was data. */
function leadsBetween(code: Code, { start, end }: CodeFunction, i: number): boolean {
  if (!hasTarget(code.flows[i])) return false;
  const target = code.targets[i];
  if (target < start || target >= end || code.instructionAt(target) >= 0) return false;
  // Where there is one thread, some leave out the prefix.
  return code.bytes[target - 1] !== LOCK;
}

/** Instructions that a function reads where they lie, relative to itself. */
function* readInstructions(code: Code, { first, last }: CodeFunction): Iterable<number> {
  for (let i = first; i < last; i++) {
    if (code.relativeAt[i] === 0 || code.flows[i] !== FLOW.next || code.opcodes[i] === LEA) continue;
    const target = code.instructionAt(relativeAddress(code, i) - code.base);
    if (target >= 0) yield target;
  }
}

const instruction = new Instruction();
const bit = (register: number): number => (register >= 0 && register < 16 ? 1 << register : 0);

/** Tells where a call leads to code that takes its return address to find something by. */
class Takers {
  readonly #code: Code;
  readonly #known = new Map<number, boolean>();

  constructor(code: Code) {
    this.#code = code;
  }

  /** @param entry offset of the code that is called; it need not be of a known function, such as one written in assembly */
  has(entry: number): boolean {
    const known = this.#known.get(entry);
    if (known !== undefined) return known;
    const takes = takesReturnAddress(this.#code, entry);
    this.#known.set(entry, takes);
    return takes;
  }
}

function takesReturnAddress({ bytes }: Code, entry: number): boolean {
  /** How far the stack pointer is below the return address, and which registers have that. */
  let depth = 0;
  let holders = 0;
  let isPopped = false;
  let at = entry;
  for (let step = 0; step < MOST_STEPS; step++, at += instruction.length) {
    if (!isInstruction(bytes, at)) return false;
    const { opcode, flow, reads, writes, base, index, displacement, access } = instruction;
    const isHeld = (reads & holders) !== 0;
    // A locked instruction there is a fence: it changes nothing.
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
      // It is changed, or exchanged; a new one alone leads elsewhere.
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

/** Decodes what stands at an offset, if that is an instruction. */
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

/** By how much `sub` and `add` with a constant move the stack pointer down. */
function constantOf(bytes: Uint8Array, at: number): number | undefined {
  const { opcode, modRmAt, access, length } = instruction;
  if (access !== 0 || (opcode !== CONSTANT_8 && opcode !== CONSTANT_32)) return undefined;
  const digit = (bytes[at + modRmAt] >> 3) & 7;
  const end = at + length;
  const constant = opcode === CONSTANT_8 ? (bytes[end - 1] << 24) >> 24 : int32At(bytes, end - 4);
  if (digit === 5) return constant;
  return digit === 0 ? -constant : undefined;
}

/** Instructions of a function that put an address of code into a register, and the instructions that these lead to. */
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

/** Instructions that put an address into a register by which a function reads, or which it gives to a function that reads there. */
function* readByAddress(
  code: Code,
  one: CodeFunction,
  sources: ReadonlySet<number>,
  imported: ReadonlyMap<number, string>,
): Iterable<number> {
  if (sources.size === 0) return;
  const flow = new AddressFlow(code, one, sources);
  for (let i = one.first; i < one.last; i++)
    for (const register of registersRead(code, i, imported)) {
      const source = flow.sourceOf(register, i);
      if (source >= 0) yield source;
    }
}
