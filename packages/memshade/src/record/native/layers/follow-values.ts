import {
  decode,
  FLOW,
  hasTarget,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  READ,
  WRITE,
} from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS, R8, R9, RAX, RBP, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { int32At } from "../../../ground/bytes/numbers.ts";
import {
  CONSTANT,
  computed,
  fromCall,
  fromParam,
  type Origin,
  OTHER,
  TRACKED,
} from "../../allocator/find/origin.ts";

/** Registers of the first parameters in the System V ABI. */
const PARAMETERS = [RDI, RSI, RDX, RCX, R8, R9].map(({ number }) => number);
/** Origin of the length of a text that is a parameter, beside the parameter itself. */
export const LENGTH: Origin = 1 << 27;
export const CALL_RESULTS = 0b111111_111111 << 12;
const [ADD, SUBTRACT, AND] = [0, 5, 4];
const LEA = 0x8d;
const LEAVE = 0xc9;
const PUSH_CONSTANTS: ReadonlySet<number> = new Set([0x68, 0x6a]);
const MOVES: ReadonlySet<number> = new Set([0x89, 0x8b, 0x88, 0x8a, 0x63, 0x1b6, 0x1b7, 0x1be, 0x1bf]);
/** `movq` and `pinsrq` to a vector register, from which two pointers are stored at once. */
const TO_VECTOR: ReadonlySet<number> = new Set([0x16e, 0x322]);
/** Stack offset of a value that is no address of the stack. */
const NOWHERE = Number.MAX_SAFE_INTEGER;

export interface MachineCall {
  /** Address of the last byte of the instruction, as in recorded frames. */
  readonly site: number;
  /** Target of a direct call. */
  readonly target: number | undefined;
  /** Fixed address of the pointer to the target. */
  readonly pointer: number | undefined;
  readonly isTail: boolean;
}

/** Effect of a call, as far as it concerns memory of the allocator. */
export type CallMeaning =
  /** `sizes`: bits of the operands that decide the size; `out`: operand with the address of the result */
  | { kind: "allocates"; slot: number; sizes: number; out?: number | undefined }
  /** `result`: its origins in the called function; `sizes`: of its own requests */
  | { kind: "returns"; result: Origin; sizes: readonly Origin[] }
  | { kind: "copies" | "measures" | "ends" | "other" };

export interface MachineSummary {
  readonly result: Origin;
  /** Results of calls that are stored outside of the stack and of their own block. */
  readonly kept: Origin;
  /** Origins of the sizes that the calls of each slot request. */
  readonly sizes: readonly Origin[];
}

interface State {
  readonly origins: Int32Array;
  /** Offsets of addresses of the stack from the stack pointer at the function's entry. */
  readonly frames: Float64Array;
  readonly slots: Map<number, Origin>;
}

/** An instruction at an address, whose bytes begin at an offset of `bytes`. */
interface Decoded {
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly instruction: Instruction;
}

/** Bytes of code, and the address of the first one. */
export interface CodePart {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Decodes a function and its cold parts, to which its conditional jumps lead. The result is undefined if it has more
 * than `most` instructions or cannot be decoded.
 */
export function decodeFunction(
  whole: CodePart,
  most: number,
  coldPartAt: (address: number) => CodePart | undefined,
): readonly Decoded[] | undefined {
  const decoded: Decoded[] = [];
  const parts = [whole];
  const isKnown = (address: number): boolean =>
    parts.some(({ start, bytes }) => address >= start && address < start + bytes.length);
  try {
    for (const { start, bytes } of parts)
      for (let at = 0; at < bytes.length; at += decoded.at(-1)!.instruction.length) {
        if (decoded.length === most) return undefined;
        const instruction = new Instruction();
        decode(bytes, at, instruction);
        decoded.push({ address: start + at, bytes, at, instruction });
        const target = start + at + instruction.length + instruction.distance;
        if (instruction.flow !== FLOW.branch || isKnown(target)) continue;
        const part = coldPartAt(target);
        if (part !== undefined) parts.push(part);
      }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return undefined;
  }
  return decoded;
}

/** Follows the values of a function of machine code from its parameters and calls to its sizes and its result. */
export function summarizeFunction(
  code: readonly Decoded[],
  meaningOf: (call: MachineCall) => CallMeaning,
): MachineSummary {
  return new Follower(code, meaningOf).summary();
}

class Follower {
  readonly #code: readonly Decoded[];
  readonly #meaningOf: (call: MachineCall) => CallMeaning;
  readonly #meanings = new Map<Decoded, CallMeaning>();
  readonly #indexOf: ReadonlyMap<number, number>;
  /** States at the targets of jumps. */
  readonly #states = new Map<number, State>();
  readonly #waiting = new Set<number>();
  readonly #sizes = new Array<Origin>(TRACKED).fill(0);
  #result: Origin = 0;
  #kept: Origin = 0;
  #state: State;

  constructor(code: readonly Decoded[], meaningOf: (call: MachineCall) => CallMeaning) {
    this.#code = code;
    this.#meaningOf = meaningOf;
    this.#indexOf = new Map(code.map(({ address }, i) => [address, i]));
    const origins = new Int32Array(16).fill(OTHER);
    PARAMETERS.forEach((register, i) => {
      origins[register] = fromParam(i);
    });
    const frames = new Float64Array(16).fill(NOWHERE);
    frames[RSP.number] = 0;
    this.#state = { origins, frames, slots: new Map() };
    for (const step of code) {
      const target = this.#insideOf(step);
      if (target !== undefined) this.#states.set(target, unreached());
    }
    this.#states.set(0, unreached());
    this.#reach(0);
  }

  summary(): MachineSummary {
    for (const start of this.#waiting) {
      this.#waiting.delete(start);
      this.#state = copyOf(this.#states.get(start)!);
      for (let i = start; this.#follow(this.#code[i]); i++) {
        if (this.#code[i + 1]?.address !== endOf(this.#code[i])) break;
        if (!this.#states.has(i + 1)) continue;
        this.#reach(i + 1);
        break;
      }
    }
    return { result: this.#result, kept: this.#kept, sizes: this.#sizes };
  }

  /** Returns the index of the instruction that a jump inside the function leads to. */
  #insideOf(step: Decoded): number | undefined {
    const { flow, distance } = step.instruction;
    const isJump = flow === FLOW.jump || flow === FLOW.branch;
    return isJump ? this.#indexOf.get(endOf(step) + distance) : undefined;
  }

  #reach(i: number): void {
    if (joinInto(this.#states.get(i)!, this.#state)) this.#waiting.add(i);
  }

  /** Follows an instruction. Returns false if the next one is not reached from it. */
  #follow(step: Decoded): boolean {
    const { flow } = step.instruction;
    const inside = this.#insideOf(step);
    switch (flow) {
      case FLOW.jump:
      case FLOW.branch:
        if (inside !== undefined) this.#reach(inside);
        else if (flow === FLOW.jump) this.#call(step, true);
        return flow === FLOW.branch;
      case FLOW.return:
        this.#result |= this.#state.origins[RAX.number];
        return false;
      case FLOW.trap:
        return false;
      case FLOW.indirectJump:
        this.#call(step, true);
        return false;
      case FLOW.call:
      case FLOW.indirectCall:
        return this.#call(step, false);
      default:
        this.#compute(step);
        return true;
    }
  }

  #call(step: Decoded, isTail: boolean): boolean {
    const { origins, frames, slots } = this.#state;
    const meaning = this.#meanings.get(step) ?? this.#meaningOf({ ...calledAt(step), isTail });
    this.#meanings.set(step, meaning);
    if (meaning.kind === "ends") return false;
    const operands = PARAMETERS.map((register) => origins[register]);
    for (const register of PARAMETERS) if (slots.has(frames[register])) slots.set(frames[register], OTHER);
    let result: Origin = OTHER;
    if (meaning.kind === "copies") result = operands[0];
    else if (meaning.kind === "measures") result = computed(operands[0]) | LENGTH;
    else if (meaning.kind === "returns") result = this.#returned(meaning, operands);
    else if (meaning.kind === "allocates") {
      for (const [operand, origin] of operands.entries())
        if ((meaning.sizes & (1 << operand)) !== 0) this.#sizes[meaning.slot] |= origin;
      const block = fromCall(meaning.slot);
      if (meaning.out === undefined) result = block;
      else if (frames[PARAMETERS[meaning.out]] !== NOWHERE) slots.set(frames[PARAMETERS[meaning.out]], block);
      else this.#kept |= block;
    }
    for (let register = 0; register < 16; register++)
      if ((KEPT_BY_CALLS & (1 << register)) === 0) this.#set(register, OTHER);
    origins[RAX.number] = result;
    if (isTail) this.#result |= result;
    return !isTail;
  }

  /** Returns the origins of a called function's result in this one; its block counts as that of the last slot. */
  #returned(
    { result, sizes }: Extract<CallMeaning, { kind: "returns" }>,
    operands: readonly Origin[],
  ): Origin {
    const translate = (origin: Origin): Origin =>
      operands.reduce(
        (joined, operand, i) =>
          joined |
          ((origin & fromParam(i)) === 0 ? 0 : operand) |
          ((origin & computed(fromParam(i))) === 0 ? 0 : sum([operand])),
        origin & (CONSTANT | OTHER | LENGTH),
      );
    const hasBlock = (result & CALL_RESULTS) !== 0;
    if (hasBlock) this.#sizes[TRACKED - 1] |= sizes.reduce((joined, size) => joined | translate(size), 0);
    return translate(result) | (hasBlock ? fromCall(TRACKED - 1) : 0);
  }

  #set(register: number, origin: Origin, frame = NOWHERE): void {
    this.#state.origins[register] = origin;
    this.#state.frames[register] = frame;
  }

  #moveStack(by: number): void {
    const { frames } = this.#state;
    if (frames[RSP.number] !== NOWHERE) frames[RSP.number] += by;
  }

  /** Returns the stack offset of a memory operand; `NOWHERE` if it is no known place of the stack. */
  #place({ base, index, displacement }: Instruction): number {
    const frame = base === NO_REGISTER || base === INSTRUCTION_POINTER ? NOWHERE : this.#state.frames[base];
    return frame === NOWHERE || index !== NO_REGISTER ? NOWHERE : frame + displacement;
  }

  #compute(step: Decoded): void {
    const { instruction } = step;
    const { opcode, access, reads, writes, base, index } = instruction;
    const { origins, frames, slots } = this.#state;
    const stack = RSP.number;
    if (instruction.implicit === IMPLICIT.push) {
      const pushed = registerIn(reads & ~(1 << stack));
      this.#moveStack(-8);
      slots.set(frames[stack], pushed < 0 || PUSH_CONSTANTS.has(opcode) ? CONSTANT : origins[pushed]);
      return;
    }
    if (instruction.implicit === IMPLICIT.pop) {
      if (opcode === LEAVE) frames[stack] = frames[RBP.number];
      const popped = opcode === LEAVE ? RBP.number : registerIn(writes & ~(1 << stack));
      if (popped >= 0) this.#set(popped, slots.get(frames[stack]) ?? OTHER);
      this.#moveStack(8);
      return;
    }
    if (opcode === LEA) {
      const place = this.#place(instruction);
      const parts = [base, index].flatMap((at) => (at >= 0 && at < 16 ? origins[at] : []));
      this.#set(registerIn(writes), place === NOWHERE ? sum(parts) : OTHER, place);
      return;
    }
    const loaded = (access & READ) !== 0 ? this.#load(instruction) : undefined;
    if ((access & WRITE) !== 0) this.#store(instruction, loaded);
    if (TO_VECTOR.has(opcode))
      for (const register of registersIn(reads)) this.#kept |= origins[register] & CALL_RESULTS;
    const written = writes & 0xffff;
    if (written === 0) return;
    const isAddress = (register: number): boolean => register === base || register === index;
    const sources = registersIn(reads & 0xffff).filter((register) => access === 0 || !isAddress(register));
    // A register may be an operand and part of an address. Only operations that read their target do so.
    const target = registerIn(written);
    if (access !== 0 && isAddress(target) && !MOVES.has(opcode)) sources.push(target);
    if (MOVES.has(opcode)) {
      const [source] = sources;
      if (loaded !== undefined) this.#set(target, loaded);
      else if (source !== undefined) this.#set(target, origins[source], frames[source]);
      return;
    }
    if (opcode >= 0x140 && opcode <= 0x14f) {
      const others = sources.filter((register) => register !== target).map((register) => origins[register]);
      if (loaded !== undefined) others.push(loaded);
      this.#set(
        target,
        others.reduce((a, b) => a | b, origins[target]),
      );
      return;
    }
    const operation = arithmetic(step);
    if (target === stack || frames[target] !== NOWHERE) {
      const by = operation.constant ?? 0;
      const isKnown = operation.constant !== undefined && operation.kind !== undefined;
      const moved = operation.kind === ADD ? by : operation.kind === SUBTRACT ? -by : 0;
      this.#set(target, OTHER, isKnown ? frames[target] + moved : NOWHERE);
      return;
    }
    const isCleared = operation.clears && sources.length === 1 && access === 0;
    const values = sources.map((register) => origins[register]);
    if (loaded !== undefined) values.push(loaded);
    const isSum = operation.kind === ADD || operation.kind === AND || operation.kind === SUBTRACT;
    const taken = operation.kind === SUBTRACT ? values.filter((_, at) => sources[at] !== target) : [];
    const isDistance = taken.some((value) => (value & CALL_RESULTS) !== 0);
    const value = isCleared ? CONSTANT : isSum && !isDistance ? sum(values) : product(values);
    for (const register of registersIn(written)) this.#set(register, value);
  }

  #load(instruction: Instruction): Origin {
    const place = this.#place(instruction);
    return place === NOWHERE ? CONSTANT : (this.#state.slots.get(place) ?? OTHER);
  }

  #store(instruction: Instruction, loaded: Origin | undefined): void {
    const { base, index, opcode, reads } = instruction;
    const { origins, slots } = this.#state;
    const place = this.#place(instruction);
    const sources = registersIn(reads & 0xffff).filter((register) => register !== base && register !== index);
    // The stored register may also be the base: a block's own address in its head.
    const values = sources.map((register) => origins[register]);
    if (place !== NOWHERE)
      slots.set(
        place,
        MOVES.has(opcode) ? (values[0] ?? CONSTANT) : product([...values, loaded ?? CONSTANT]),
      );
    else if (base === NO_REGISTER || base === INSTRUCTION_POINTER || this.#state.frames[base] === NOWHERE) {
      const inside = base >= 0 && base < 16 ? origins[base] & CALL_RESULTS : 0;
      for (const value of values)
        this.#kept |= value & CALL_RESULTS & ~(inside | (inside >> TRACKED) | (inside << TRACKED));
    }
  }
}

function sum(values: readonly Origin[]): Origin {
  const origin = values.reduce((joined, value) => joined | computed(value) | (value & LENGTH), 0);
  return origin === 0 || origin === CONSTANT ? CONSTANT : origin & ~CONSTANT;
}

/** Returns the origin of a number that is no address, even if it is computed from one. */
function product(values: readonly Origin[]): Origin {
  const origin = sum(values);
  return (origin & CALL_RESULTS) === 0 ? origin : OTHER;
}

/** Describes an instruction with two operands: its kind (the number in the opcode), and a constant operand. */
function arithmetic({ bytes, at, instruction: { opcode, length, modRmAt } }: Decoded): {
  kind: number | undefined;
  constant: number | undefined;
  clears: boolean;
} {
  if (opcode === 0x83 || opcode === 0x81) {
    const end = at + length;
    const constant = opcode === 0x83 ? (bytes[end - 1] << 24) >> 24 : int32At(bytes, end - 4);
    return { kind: (bytes[at + modRmAt] >> 3) & 7, constant, clears: false };
  }
  const isPair = opcode < 0x40 && (opcode & 7) < 4;
  // `xor`, `sub` and `sbb` of a register with itself.
  const clears = isPair && [0x30, 0x28, 0x18].includes(opcode & 0x38);
  return { kind: isPair ? opcode >> 3 : undefined, constant: undefined, clears };
}

function endOf({ address, instruction }: Decoded): number {
  return address + instruction.length;
}

/** Returns where a call or a jump out of the function leads. */
export function calledAt(step: Decoded): Omit<MachineCall, "isTail"> {
  const { flow, distance, access, base, index, displacement } = step.instruction;
  const next = endOf(step);
  const isFixed = access !== 0 && base === INSTRUCTION_POINTER && index === NO_REGISTER;
  return {
    site: next - 1,
    target: hasTarget(flow) ? next + distance : undefined,
    pointer: isFixed ? next + displacement : undefined,
  };
}

function unreached(): State {
  return { origins: new Int32Array(16), frames: new Float64Array(16).fill(Number.NaN), slots: new Map() };
}

function copyOf({ origins, frames, slots }: State): State {
  return { origins: origins.slice(), frames: frames.slice(), slots: new Map(slots) };
}

/** Joins a state into that of a jump's target. Returns true if that has changed. */
function joinInto(into: State, from: State): boolean {
  let hasChanged = false;
  for (let register = 0; register < 16; register++) {
    const origin = into.origins[register] | from.origins[register];
    const before = into.frames[register];
    const frame = Number.isNaN(before) || before === from.frames[register] ? from.frames[register] : NOWHERE;
    if (origin === into.origins[register] && frame === before) continue;
    into.origins[register] = origin;
    into.frames[register] = frame;
    hasChanged = true;
  }
  for (const [slot, value] of from.slots) {
    const origin = (into.slots.get(slot) ?? 0) | value;
    if (origin === into.slots.get(slot)) continue;
    into.slots.set(slot, origin);
    hasChanged = true;
  }
  return hasChanged;
}

function registersIn(mask: number): number[] {
  const registers: number[] = [];
  for (let rest = mask & 0xffff; rest !== 0; rest &= rest - 1) registers.push(31 - Math.clz32(rest & -rest));
  return registers;
}

function registerIn(mask: number): number {
  return registersIn(mask)[0] ?? -1;
}
