import { decode, FLOW, hasTarget, Instruction, NO_REGISTER } from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS } from "../../../code/x64/index.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import { type Code, type CodeFunction, endsPath, TRAIT } from "./code.ts";

/**
 * Finds the instructions that set a register for a later read, along straight code and direct jumps. A search
 * stops at calls that may overwrite the register.
 */
class ReachingAddresses {
  readonly #code: Code;
  readonly #function: CodeFunction;
  readonly #instruction = new Instruction();
  /** Per register: instructions that the search has visited. */
  readonly #visited = new Map<number, Set<number>>();
  /** Direct jumps of the function, by target. */
  #jumpsTo: Map<number, number[]> | undefined;

  constructor(code: Code, codeFunction: CodeFunction) {
    this.#code = code;
    this.#function = codeFunction;
  }

  /**
   * Yields the instructions that may set a register for instruction `readAt`. Each is yielded once per
   * register.
   */
  *writersOf(register: number, readAt: number): Iterable<number> {
    const visited = this.#visited.get(register) ?? new Set();
    this.#visited.set(register, visited);
    const waiting = [readAt];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (visited.has(at)) continue;
      visited.add(at);
      for (const before of this.#before(at, register)) {
        decode(this.#code.bytes, this.#code.offsets[before], this.#instruction);
        if ((this.#instruction.writes & (1 << register)) !== 0) yield before;
        else waiting.push(before);
      }
    }
  }

  /** Returns instructions that may run directly before an instruction. */
  #before(at: number, register: number): number[] {
    const { offsets, flows, traits } = this.#code;
    const before = (traits[at] & TRAIT.leader) === 0 ? [] : [...(this.#jumps().get(offsets[at]) ?? [])];
    const last = at - 1;
    const isCall = flows[last] === FLOW.call || flows[last] === FLOW.indirectCall;
    const isLost = isCall && (KEPT_BY_CALLS & (1 << register)) === 0;
    if (last >= this.#function.first && !endsPath(flows[last]) && !isLost) before.push(last);
    return before;
  }

  #jumps(): Map<number, number[]> {
    if (this.#jumpsTo !== undefined) return this.#jumpsTo;
    this.#jumpsTo = new Map();
    const { flows, targets } = this.#code;
    for (let i = this.#function.first; i < this.#function.last; i++) {
      if (!hasTarget(flows[i]) || flows[i] === FLOW.call) continue;
      const jumps = this.#jumpsTo.get(targets[i]);
      if (jumps === undefined) this.#jumpsTo.set(targets[i], [i]);
      else jumps.push(i);
    }
    return this.#jumpsTo;
  }
}

/** A table of numbers that lead to code: 8-byte addresses, or 4-byte distances. */
export interface JumpTable {
  /** SVMA */
  readonly address: number;
  /** function that reads it */
  readonly owner: number;
  readonly bytes: 4 | 8;
  /** SVMA that entries count from; 0 for addresses */
  readonly origin: number;
  /** Jumps of the owner that probably read an entry; `isCertain` if one of them certainly does. */
  readonly jumps: readonly number[];
  readonly isCertain: boolean;
}

const TABLE_ENTRY = 4;
const POINTER = 8;
const [MOV, MOVSXD, LEA, ADD_TO_PLACE, ADD] = [0x8b, 0x63, 0x8d, 0x01, 0x03];
/** Number of instructions to search before a jump for its table. */
const LOOK_BACK = 24;

/** Table of an indirect jump: at a constant address, or with its address in a register. */
type Through = { address: number } | { table: number; origin: number; readAt: number };

/**
 * Yields possible tables of functions with indirect jumps: all addresses that they take, most of which are no
 * tables.
 */
export function* jumpTables(code: Code, areFixed: boolean): Iterable<JumpTable> {
  const instruction = new Instruction();
  for (const [owner, codeFunction] of code.functions.entries()) {
    const absolute = new Map<number, number[]>();
    const byRegister = new Map<number, number[]>();
    // Instructions that compute the address of a table.
    const certain = new Set<number>();
    const reaching = new ReachingAddresses(code, codeFunction);
    let jumps = 0;
    for (let i = codeFunction.first; i < codeFunction.last; i++) {
      if (code.flows[i] !== FLOW.indirectJump) continue;
      jumps++;
      const through = jumpsThrough(code, codeFunction, i, instruction);
      if (through === undefined) continue;
      if ("address" in through) addTo(absolute, through.address, i);
      else if (through.table === through.origin) {
        addTo(byRegister, 1 << through.table, i);
        for (const writer of reaching.writersOf(through.table, through.readAt)) certain.add(writer);
      } else yield* labelDifferences(code, owner, through, i);
    }
    if (jumps === 0) continue;
    for (let i = codeFunction.first; i < codeFunction.last; i++) {
      if (code.relativeAt[i] === 0 && !(areFixed && (code.traits[i] & TRAIT.access) !== 0)) continue;
      decode(code.bytes, code.offsets[i], instruction);
      if (code.relativeAt[i] !== 0) {
        const address = relativeAddress(code, i);
        const through = (instruction.opcode === LEA && byRegister.get(instruction.writes)) || [];
        const isCertain = through.length > 0 && certain.has(i) && address % TABLE_ENTRY === 0;
        yield { address, owner, bytes: TABLE_ENTRY, origin: address, jumps: through, isCertain };
        // No relocation marks labels in data at fixed addresses: `lea T(%rip), t` and `jmp *(t,i,8)`.
        if (areFixed && instruction.opcode === LEA)
          yield { address, owner, bytes: POINTER, origin: 0, jumps: [], isCertain: false };
      } else if (isFixedTable(instruction)) {
        const address = instruction.displacement;
        const through = absolute.get(address) ?? [];
        yield { address, owner, bytes: POINTER, origin: 0, jumps: through, isCertain: through.length > 0 };
      }
    }
  }
}

/**
 * Yields indirect jumps whose targets may be computed from numbers without relocations: jumps by a register
 * that is not loaded from memory, and at fixed addresses all indirect jumps.
 */
export function* computedJumps(code: Code, areFixed: boolean): Iterable<number> {
  const instruction = new Instruction();
  for (let i = 0; i < code.count; i++) {
    if (code.flows[i] !== FLOW.indirectJump) continue;
    if (areFixed || !isLoaded(code, i, instruction)) yield i;
  }
}

function isLoaded(code: Code, jump: number, instruction: Instruction): boolean {
  decode(code.bytes, code.offsets[jump], instruction);
  if (instruction.access !== 0) return true;
  const target = instruction.reads;
  for (let i = jump - 1; i >= Math.max(0, jump - LOOK_BACK); i--) {
    if (code.flows[i] !== FLOW.next && code.flows[i] !== FLOW.branch) return false;
    decode(code.bytes, code.offsets[i], instruction);
    if ((instruction.writes & target) !== 0) return instruction.opcode === MOV && instruction.access !== 0;
  }
  return false;
}

/** Yields a table of distances from a label, if both addresses are in registers. */
function* labelDifferences(
  code: Code,
  owner: number,
  { table, origin, readAt }: { table: number; origin: number; readAt: number },
  jump: number,
): Iterable<JumpTable> {
  const tableAddress = addressIn(code, code.functions[owner], table, readAt);
  const originAddress = addressIn(code, code.functions[owner], origin, jump);
  if (tableAddress === undefined || originAddress === undefined) return;
  const jumps = [jump];
  yield { address: tableAddress, owner, bytes: TABLE_ENTRY, origin: originAddress, jumps, isCertain: true };
}

/** Matches `jmp *T(,i,8)`; `mov T(,i,8), r` and `jmp *r`; or `movslq (t,i,4), r`, `add t, r` and `jmp *r`. */
function jumpsThrough(
  code: Code,
  { first }: CodeFunction,
  jump: number,
  instruction: Instruction,
): Through | undefined {
  decode(code.bytes, code.offsets[jump], instruction);
  if (instruction.access !== 0)
    return isFixedTable(instruction) ? { address: instruction.displacement } : undefined;
  const target = instruction.reads;
  // Second register of the sum, once it is found.
  let added = 0;
  for (let i = jump - 1; i >= Math.max(first, jump - LOOK_BACK) && code.flows[i] === FLOW.next; i--) {
    decode(code.bytes, code.offsets[i], instruction);
    const written = instruction.writes & (target | added);
    if (written === 0) continue;
    if (instruction.opcode === MOV && added === 0 && instruction.access !== 0)
      return isFixedTable(instruction) ? { address: instruction.displacement } : undefined;
    if (
      instruction.opcode === MOVSXD &&
      added !== 0 &&
      instruction.access !== 0 &&
      instruction.scale === TABLE_ENTRY
    ) {
      if (
        instruction.index === NO_REGISTER ||
        instruction.base === NO_REGISTER ||
        instruction.displacement !== 0
      )
        return undefined;
      const origin = 31 - Math.clz32((target | added) & ~written);
      return { table: instruction.base, origin, readAt: i };
    }
    const isSum =
      (instruction.opcode === ADD || instruction.opcode === ADD_TO_PLACE) && instruction.access === 0;
    if (isSum && added === 0) added = instruction.reads & ~target;
    // The label's address may be loaded between the entry and the sum.
    else if (!(instruction.opcode === LEA && code.relativeAt[i] !== 0 && written === added)) return undefined;
  }
  return undefined;
}

/** Returns the address that a register got before `behind` in straight code. */
function addressIn(
  code: Code,
  { first }: CodeFunction,
  register: number,
  behind: number,
): number | undefined {
  const instruction = new Instruction();
  for (let i = behind - 1; i >= Math.max(first, behind - LOOK_BACK) && !endsPath(code.flows[i]); i--) {
    decode(code.bytes, code.offsets[i], instruction);
    if ((instruction.writes & (1 << register)) === 0) continue;
    return instruction.opcode === LEA && code.relativeAt[i] !== 0 ? relativeAddress(code, i) : undefined;
  }
  return undefined;
}

/** Returns the address (SVMA) of a rip-relative operand. */
export function relativeAddress({ base, bytes, offsets, lengths, relativeAt }: Code, i: number): number {
  return base + offsets[i] + lengths[i] + int32At(bytes, offsets[i] + relativeAt[i]);
}

function isFixedTable({ base, index, scale, vectorIndex }: Instruction): boolean {
  return base === NO_REGISTER && index !== NO_REGISTER && scale === POINTER && !vectorIndex;
}

function addTo(lists: Map<number, number[]>, key: number, value: number): void {
  const values = lists.get(key);
  if (values === undefined) lists.set(key, [value]);
  else values.push(value);
}
