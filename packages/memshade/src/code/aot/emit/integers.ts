import { invert, type OperandSize, place, RAX, RCX, RDX, type Register, VECTOR } from "../../x64/index.ts";
import { type Address, type Instruction, isConstant, NONE, signedValue } from "../code.ts";
import { loadConstant } from "./constants.ts";
import type { Emitter } from "./emitter.ts";
import { moveRegister } from "./moves.ts";

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
    shift: (emitter, { to, from: [left, count], name, wide }) => {
      const { asm } = emitter;
      const size = wide ? 8 : 4;
      const target = emitter.target(to);
      if (isConstant(count)) {
        moveRegister(asm, target, emitter.register(left, target));
        const bits = Number(count.value & (wide ? 63n : 31n));
        if (bits !== 0) asm.put(name, size, target, bits);
      } else {
        moveRegister(asm, RCX, emitter.register(count, RCX));
        moveRegister(asm, target, emitter.register(left, target));
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
        // Of 0 the result of bsf and bsr is undefined, and the zero flag set.
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
        const kept = emitter.register(otherwise, target);
        moveRegister(asm, target, kept);
        asm.put(`cmov${condition}`, 8, target, movable(emitter, chosen));
      }
      emitter.settle(to, target);
    },
  };

const VECTOR_SCRATCH = VECTOR[15];

function movable(emitter: Emitter, source: Instruction["from"][number]) {
  return isConstant(source) ? emitter.register(source, RCX) : emitter.home(source as number);
}

/** The shortest instructions for a sum. */
function sum(emitter: Emitter, target: Register, address: Address, size: OperandSize): void {
  const { asm } = emitter;
  const { base, scale, displacement } = address;
  const at = emitter.place(address, target === RAX ? RAX : RCX);
  if (base === NONE && displacement === 0 && at.index !== undefined && at.base === undefined) {
    // Without a base, a displacement of four bytes would follow.
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
  // The least number divided by -1 faults, also where only the remainder is asked for, which is 0.
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
