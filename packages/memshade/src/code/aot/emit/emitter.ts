import {
  type Assembler,
  GENERAL,
  invert,
  type Label,
  type OperandSize,
  type Place,
  place,
  R15,
  RAX,
  RCX,
  RDX,
  type Register,
  RSP,
  VECTOR,
} from "../../x64/index.ts";
import type { Assignment } from "../allocate.ts";
import {
  type Address,
  type FunctionCode,
  fitsInt32,
  type Instruction,
  isAddress,
  isConstant,
  NONE,
  type Source,
  signedValue,
  type Value,
} from "../code.ts";
import { STACK_ARGUMENTS_FROM } from "../convention.ts";

/**
 * State of a function while it is emitted, with the homes of its values. A scratch register is used by one
 * instruction at a time.
 */
export class Emitter {
  readonly asm: Assembler;
  readonly code: FunctionCode;
  readonly frame: Frame;
  readonly labels: readonly Label[];
  readonly functions: (index: number) => Label;
  readonly #registers: Int8Array;
  readonly leave: () => void;

  constructor(
    asm: Assembler,
    code: FunctionCode,
    assignment: Assignment,
    frame: Frame,
    callbacks: Pick<Emitter, "functions" | "leave">,
  ) {
    this.asm = asm;
    this.code = code;
    this.frame = frame;
    this.#registers = assignment.registers;
    this.functions = callbacks.functions;
    this.leave = callbacks.leave;
    this.labels = Array.from({ length: code.labels }, () => asm.label());
  }

  isVector(value: Value): boolean {
    return this.code.vector[value];
  }

  home(value: Value): Register | Place {
    const register = this.#registers[value];
    if (register === NONE) return place(RSP, this.frame.slots.get(value));
    return (this.isVector(value) ? VECTOR : GENERAL)[register];
  }

  /** True for a move of a value to its own home, which needs no instruction. */
  isIdle({ op, to, from: [source] }: Instruction): boolean {
    return op === "move" && this.#registers[to] !== NONE && this.uses(source, this.home(to) as Register);
  }

  origin(source: Source): Register | Place | bigint {
    if (isConstant(source)) return source.value;
    return this.home(source as Value);
  }

  /** Returns a register that holds the operand: its own, or the scratch register. */
  register(source: Source, scratch: Register): Register {
    if (isAddress(source)) {
      this.asm.put("mov", 8, scratch, this.place(source, scratch));
      return scratch;
    }
    const origin = this.origin(source);
    if (typeof origin === "bigint") loadConstant(this.asm, scratch, origin, true);
    else if (origin.kind !== "place") return origin;
    else this.asm.put(scratch.kind === "vector" ? "movups" : "mov", 8, scratch, origin);
    return scratch;
  }

  /**
   * Returns an operand of an instruction of 4 or 8 bytes that allows any kind. A number that does not fit goes
   * through `scratch`.
   */
  operand(source: Source, wide: boolean, scratch: Register = RCX): Register | Place | number {
    if (isAddress(source)) return this.place(source, scratch);
    if (!isConstant(source)) return this.home(source);
    const value = signedValue(source, wide);
    if (fitsInt32(value)) return Number(value);
    loadConstant(this.asm, scratch, value, true);
    return scratch;
  }

  /** Returns the place of an address. Parts that are not in registers or do not fit go through `scratch`. */
  place({ base, index, scale, displacement, linear }: Address, scratch: Register = RCX): Place {
    const { asm } = this;
    const from = (value: Value) => (value === NONE ? undefined : this.home(value));
    const [baseAt, indexAt] = [from(base), from(index)];
    if (linear) {
      if (fitsInt32(displacement)) {
        if (baseAt === undefined) return place(R15, displacement);
        return place(R15, displacement, this.register(base, scratch));
      }
      loadConstant(asm, scratch, BigInt(displacement));
      if (baseAt !== undefined) asm.put("add", 8, scratch, baseAt);
      return place(R15, 0, scratch);
    }
    const isSpilled = (at: Register | Place | undefined) => at?.kind === "place";
    if (!isSpilled(baseAt) && !isSpilled(indexAt))
      return place(baseAt as Register | undefined, displacement, indexAt as Register | undefined, scale);
    if (indexAt === undefined) return place(this.register(base, scratch), displacement);
    if (isSpilled(baseAt) && indexAt.kind !== "place")
      return place(this.register(base, scratch), displacement, indexAt, scale);
    const register = this.register(index, scratch);
    if (!isSpilled(baseAt)) return place(baseAt as Register | undefined, displacement, register, scale);
    asm.put("lea", 8, scratch, place(undefined, displacement, register, scale));
    asm.put("add", 8, scratch, baseAt as Place);
    return place(scratch);
  }

  /**
   * Returns the register in which an instruction computes its result. `settle` moves it to the value's home.
   */
  target(to: Value, scratch: Register = RAX): Register {
    const home = to === NONE ? scratch : this.home(to);
    return home.kind === "place" ? scratch : home;
  }

  settle(to: Value, register: Register): void {
    if (to === NONE) return;
    const home = this.home(to);
    if (home.kind !== "place") moveRegister(this.asm, home, register);
    else this.asm.put(register.kind === "vector" ? "movups" : "mov", 8, home, register);
  }

  /** True if writing the register would destroy the operand. */
  uses(source: Source, register: Register): boolean {
    if (typeof source === "number") return this.home(source) === register;
    if (isConstant(source)) return false;
    return [source.base, source.index].some((value) => value !== NONE && this.home(value) === register);
  }

  compare({ comparison, from: [left, right], wide }: Instruction): void {
    const { asm } = this;
    if (comparison === "ptest") {
      asm.put("ptest", 8, this.register(left, VECTOR[14]), this.register(right, VECTOR[15]));
      return;
    }
    const size = wide ? 8 : 4;
    let a: Register | Place | number = isConstant(left)
      ? this.register(left, RAX)
      : this.operand(left, wide, RCX);
    // If the left operand is a place with a scratch register in it, the other scratch register is free.
    let b = this.operand(right, wide, a !== RAX ? RAX : RCX);
    if (typeof a === "object" && a.kind === "place" && typeof b === "object" && b.kind === "place") {
      asm.put("mov", size, RAX, b);
      b = RAX;
    }
    if (comparison === "test" && typeof b === "object" && b.kind === "place") [a, b] = [b, a];
    if (comparison === "cmp" && b === 0 && typeof a === "object" && a.kind !== "place")
      asm.put("test", size, a, a);
    else asm.put(comparison, size, a, b);
  }
}

const COMMUTATIVE = ["add", "imul", "and", "or", "xor"];

export const INTEGER_WRITERS: Readonly<Record<string, (emitter: Emitter, instruction: Instruction) => void>> =
  {
    move: (emitter, { to, from: [source] }) => {
      const scratch = emitter.isVector(to) ? VECTOR_SCRATCH : RAX;
      const target = emitter.target(to, scratch);
      const origin = emitter.origin(source);
      if (typeof origin === "bigint") loadConstant(emitter.asm, target, origin);
      else if (origin.kind !== "place") return emitter.settle(to, origin);
      else emitter.register(source, target);
      emitter.settle(to, target);
    },
    lea: (emitter, { to, from: [source], wide }) => {
      const address = source as Address;
      const target = emitter.target(to);
      sum(emitter, target, address, wide ? 8 : 4);
      emitter.settle(to, target);
    },
    arithmetic: (emitter, instruction) => {
      const { asm } = emitter;
      const { to, name, wide } = instruction;
      const size = wide ? 8 : 4;
      let [left, right] = instruction.from;
      let target = emitter.target(to);
      if (emitter.uses(right, target) && !emitter.uses(left, target))
        if (COMMUTATIVE.includes(name) && typeof right === "number" && !isConstant(left))
          [left, right] = [right, left];
        else target = RAX;
      const operand = emitter.operand(right, wide);
      if (name === "imul" && typeof operand === "number") {
        const factor = isConstant(left) ? emitter.register(left, RAX) : emitter.operand(left, wide, RAX);
        asm.put("imul", size, target, factor, operand);
      } else {
        moveRegister(asm, target, emitter.register(left, target));
        asm.put(name, size, target, operand);
      }
      emitter.settle(to, target);
    },
    shift: (emitter, { to, from: [operand, count], name, wide }) => {
      const { asm } = emitter;
      const size = wide ? 8 : 4;
      const target = emitter.target(to);
      if (isConstant(count)) {
        moveRegister(asm, target, emitter.register(operand, target));
        const bits = Number(count.value & (wide ? 63n : 31n));
        if (bits !== 0) asm.put(name, size, target, bits);
      } else {
        moveRegister(asm, RCX, emitter.register(count, RCX));
        moveRegister(asm, target, emitter.register(operand, target));
        asm.put(name, size, target, RCX);
      }
      emitter.settle(to, target);
    },
    divide,
    count: (emitter, { to, from: [source], name, wide }) => {
      const { asm } = emitter;
      const size = wide ? 8 : 4;
      const operand = isConstant(source) ? emitter.register(source, RCX) : emitter.operand(source, wide, RCX);
      if (name === "popcnt") asm.put("popcnt", size, RAX, operand);
      else {
        // The result of bsf and bsr is undefined for 0, and the zero flag is set.
        const bits = wide ? 64 : 32;
        asm.put(name === "clz" ? "bsr" : "bsf", size, RAX, operand);
        asm.put("mov", 4, RCX, name === "clz" ? 2 * bits - 1 : bits);
        asm.put("cmove", 4, RAX, RCX);
        if (name === "clz") asm.put("xor", 4, RAX, bits - 1);
      }
      emitter.settle(to, RAX);
    },
    compare: (emitter, instruction) => {
      const { asm } = emitter;
      emitter.compare(instruction);
      asm.put(`set${instruction.condition}`, 1, RAX);
      const target = emitter.target(instruction.to);
      asm.put("movzx.b", 4, target, RAX);
      emitter.settle(instruction.to, target);
    },
    select: (emitter, instruction) => {
      const { asm } = emitter;
      const [, , chosen, otherwise] = instruction.from;
      const { to, condition } = instruction;
      emitter.compare(instruction);
      const target = emitter.target(to);
      if (emitter.uses(chosen, target)) {
        asm.put(`cmov${invert(condition)}`, 8, target, movable(emitter, otherwise));
      } else {
        const current = emitter.register(otherwise, target);
        moveRegister(asm, target, current);
        asm.put(`cmov${condition}`, 8, target, movable(emitter, chosen));
      }
      emitter.settle(to, target);
    },
  };

function movable(emitter: Emitter, source: Instruction["from"][number]) {
  return isConstant(source) ? emitter.register(source, RCX) : emitter.home(source as number);
}

function sum(emitter: Emitter, target: Register, address: Address, size: OperandSize): void {
  const { asm } = emitter;
  const { base, scale, displacement } = address;
  const at = emitter.place(address, target === RAX ? RAX : RCX);
  if (base === NONE && displacement === 0 && at.index !== undefined && at.base === undefined) {
    if (scale === 2) asm.put("lea", size, target, place(at.index, 0, at.index));
    else {
      moveRegister(asm, target, at.index);
      asm.put("shl", size, target, scale === 4 ? 2 : scale === 8 ? 3 : 0);
    }
    return;
  }
  if (at.index === undefined && at.base === target) {
    if (at.displacement !== 0) asm.put("add", size, target, at.displacement);
    else if (size === 4) asm.put("mov", 4, target, target);
    return;
  }
  if (at.index === undefined && at.base !== undefined && at.displacement === 0)
    asm.put("mov", size, target, at.base);
  else if (at.displacement === 0 && at.scale === 1 && at.base === target)
    asm.put("add", size, target, at.index as Register);
  else if (at.displacement === 0 && at.scale === 1 && at.index === target)
    asm.put("add", size, target, at.base as Register);
  else asm.put("lea", size, target, at);
}

function divide(emitter: Emitter, { to, from: [left, right], name, wide }: Instruction): void {
  const { asm } = emitter;
  const size = wide ? 8 : 4;
  const signed = name.endsWith("s");
  const divisor = isConstant(right) ? emitter.register(right, RCX) : emitter.operand(right, wide, RCX);
  moveRegister(asm, RAX, emitter.register(left, RAX));
  const result = name.startsWith("rem") ? RDX : RAX;
  // The least number divided by -1 faults, even if only the remainder, which is 0, is needed.
  const minusOne = name === "rem_s" && (!isConstant(right) || signedValue(right, wide) === -1n);
  const [special, done] = [asm.label(), asm.label()];
  if (minusOne) {
    asm.put("cmp", size, divisor, -1);
    asm.jump(special, "e");
  }
  if (signed) asm.put(wide ? "cqo" : "cdq", size);
  else asm.put("xor", 4, RDX, RDX);
  asm.put(signed ? "idiv" : "div", size, divisor);
  if (minusOne) {
    asm.jump(done);
    asm.bind(special);
    asm.put("xor", 4, RDX, RDX);
    asm.bind(done);
  }
  emitter.settle(to, result);
}

const WORD = 8;
const VECTOR_BYTES = 16;
const ALIGNMENT = 16;

/**
 * Stack frame of a function. From below: arguments of calls, values without a register, saved registers, return
 * address, arguments of this function.
 */
export interface Frame {
  /** Number subtracted from the stack pointer after the pushes. */
  bytes: number;
  pushed: readonly number[];
  /** Distance from the stack pointer of each value without a register. */
  slots: ReadonlyMap<Value, number>;
  cfa: number;
}

/** Lays out the frame. `base`: the register of linear memory, if it is saved too. */
export function layOutFrame(
  code: FunctionCode,
  { registers, saved, dead }: Assignment,
  base: number | undefined,
): Frame {
  const pushed = base === undefined ? saved : [base, ...saved];
  let outgoing = 0;
  let calls = false;
  code.instructions.forEach(({ op, number }) => {
    if (op === "call") outgoing = Math.max(outgoing, number);
    calls ||= op === "call" || op === "call C";
  });
  let bytes = outgoing * WORD;
  const slots = new Map<Value, number>();
  const use = (value: Value) => {
    if (value === NONE || registers[value] !== NONE || slots.has(value)) return;
    slots.set(value, bytes);
    bytes += code.vector[value] ? VECTOR_BYTES : WORD;
  };
  for (const parameter of code.parameters) use(parameter);
  code.instructions.forEach(({ to }, at) => {
    if (dead[at] === 0) use(to);
  });
  const outer = (pushed.length + 1) * WORD;
  if (calls) bytes += (ALIGNMENT - ((bytes + outer) % ALIGNMENT)) % ALIGNMENT;
  return { bytes, pushed, slots, cfa: bytes + outer };
}

/**
 * Locations of a function's arriving parameters: the number of a register of their kind, or the distance from
 * `cfa`.
 */
export function arrivals(vectors: readonly boolean[]): { register?: number; stack?: number }[] {
  let general = 0;
  let vector = 0;
  return vectors.map((isVector) => {
    if (isVector) return { register: vector++ };
    if (general < STACK_ARGUMENTS_FROM) return { register: general++ };
    return { stack: (general++ - STACK_ARGUMENTS_FROM) * WORD };
  });
}

export interface Move {
  to: Register;
  from: Register | Place | bigint;
}

const VECTOR_SCRATCH = VECTOR[15];

/**
 * Emits moves that take effect as if all happened at once. A register is written once no pending move reads it. A
 * cycle is broken through a scratch register.
 */
export function moveAll(asm: Assembler, moves: readonly Move[]): void {
  let pending = moves.filter(({ to, from }) => isRegister(from) && from !== to);
  while (pending.length > 0) {
    const free = pending.find((move) => !pending.some((other) => other !== move && other.from === move.to));
    if (free !== undefined) {
      moveRegister(asm, free.to, free.from as Register);
      pending = pending.filter((move) => move !== free);
      continue;
    }
    const source = pending[0].from as Register;
    const scratch = source.kind === "vector" ? VECTOR_SCRATCH : RAX;
    moveRegister(asm, scratch, source);
    pending = pending.map((move) => (move.from === source ? { ...move, from: scratch } : move));
  }
  for (const { to, from } of moves)
    if (typeof from === "bigint") loadConstant(asm, to, from);
    else if (from.kind === "place") asm.put(to.kind === "vector" ? "movups" : "mov", 8, to, from);
}

export function moveRegister(asm: Assembler, to: Register, from: Register): void {
  if (to !== from) asm.put(to.kind === "vector" ? "movups" : "mov", 8, to, from);
}

function isRegister(from: Move["from"]): from is Register {
  return typeof from === "object" && from.kind !== "place";
}

/** Loads a 64-bit number into a register. With `keepFlags`, the flags stay unchanged. */
function loadConstant(asm: Assembler, to: Register, value: bigint, keepFlags = false): void {
  const bits = BigInt.asUintN(64, value);
  if (bits === 0n && !keepFlags) asm.put("xor", 4, to, to);
  else if (bits < 2n ** 32n) asm.put("mov", 4, to, Number(bits));
  else if (fitsInt32(BigInt.asIntN(64, value))) asm.put("mov", 8, to, Number(BigInt.asIntN(64, value)));
  else asm.put("movabs", 8, to, bits);
}
