import {
  type Assembler,
  GENERAL,
  type Label,
  type Place,
  place,
  R15,
  RAX,
  RCX,
  type Register,
  RSP,
  VECTOR,
} from "../../x64/index.ts";
import type { Assignment } from "../allocate/assign.ts";
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
import { loadConstant } from "./constants.ts";
import type { Frame } from "./frame.ts";
import { moveRegister } from "./moves.ts";

/** A function while it is written, and where its values are. The scratch registers belong to one instruction at a time. */
export class Emitter {
  readonly asm: Assembler;
  readonly code: FunctionCode;
  readonly frame: Frame;
  readonly labels: readonly Label[];
  /** Of every function of the module. */
  readonly functions: (index: number) => Label;
  readonly #registers: Int8Array;
  /** Writes what gives registers and stack back. */
  readonly leave: () => void;

  constructor(
    asm: Assembler,
    code: FunctionCode,
    assignment: Assignment,
    frame: Frame,
    around: Pick<Emitter, "functions" | "leave">,
  ) {
    this.asm = asm;
    this.code = code;
    this.frame = frame;
    this.#registers = assignment.registers;
    this.functions = around.functions;
    this.leave = around.leave;
    this.labels = Array.from({ length: code.labels }, () => asm.label());
  }

  isVector(value: Value): boolean {
    return this.code.vector[value];
  }

  /** Where a value lives. */
  home(value: Value): Register | Place {
    const register = this.#registers[value];
    if (register === NONE) return place(RSP, this.frame.slots.get(value));
    return (this.isVector(value) ? VECTOR : GENERAL)[register];
  }

  /** Whether nothing has to be done: a move of a value to where it is. */
  isIdle({ op, to, from: [source] }: Instruction): boolean {
    return op === "move" && this.#registers[to] !== NONE && this.uses(source, this.home(to) as Register);
  }

  /** What a move from an operand moves. */
  origin(source: Source): Register | Place | bigint {
    if (isConstant(source)) return source.value;
    return this.home(source as Value);
  }

  /** A register with the operand: its own, or the scratch register. */
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

  /** An operand as an instruction of 4 or 8 bytes can have it, where it may be anything; numbers that are too large go through scratch. */
  operand(source: Source, wide: boolean, scratch: Register = RCX): Register | Place | number {
    if (isAddress(source)) return this.place(source, scratch);
    if (!isConstant(source)) return this.home(source);
    const value = signedValue(source, wide);
    if (fitsInt32(value)) return Number(value);
    loadConstant(this.asm, scratch, value, true);
    return scratch;
  }

  /** The place of an address. Parts of it that are not in registers, or too far, go through scratch. */
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

  /** Where the result of an instruction is computed. `settle` brings it home. */
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

  /** Whether the operand cannot be read any more when the register is written. */
  uses(source: Source, register: Register): boolean {
    if (typeof source === "number") return this.home(source) === register;
    if (isConstant(source)) return false;
    return [source.base, source.index].some((value) => value !== NONE && this.home(value) === register);
  }

  /** Sets the flags as two operands compare. */
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
    // Where the left one is a place with a scratch register in it, the other one is free.
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
