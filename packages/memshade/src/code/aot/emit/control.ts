import { GENERAL, place, R11, RAX, RBP, RCX, type Register, RSP, relative, VECTOR } from "../../x64/index.ts";
import type { Instruction, Source } from "../code.ts";
import { ARGUMENTS, SYSTEM_ARGUMENTS } from "../convention.ts";
import type { Emitter } from "./emitter.ts";
import { arrivals } from "./frame.ts";
import { type Move, moveAll, moveRegister } from "./moves.ts";

type Writer = (emitter: Emitter, instruction: Instruction) => void;

/** What the symbols of relocations begin with, where they are of C functions. */
export const C_FUNCTION = "c:";
export const THREAD_OFFSET = "thread";

export const CONTROL_WRITERS: Readonly<Record<string, Writer>> = {
  label: ({ asm, labels }, { label }) => asm.bind(labels[label]),
  jump: ({ asm, labels }, { label }) => asm.jump(labels[label]),
  branch: (emitter, instruction) => {
    emitter.compare(instruction);
    emitter.asm.jump(emitter.labels[instruction.label], instruction.condition);
  },
  table: (emitter, { from: [index], labels }) => {
    const { asm } = emitter;
    const targets = labels.map((label) => emitter.labels[label]);
    const otherwise = targets[targets.length - 1];
    if (targets.length === 1) return asm.jump(otherwise);
    const table = asm.table(targets.slice(0, -1));
    asm.put("mov", 4, RAX, emitter.operand(index, false));
    asm.put("cmp", 4, RAX, targets.length - 1);
    asm.jump(otherwise, "ae");
    asm.put("lea", 8, RCX, relative(table));
    asm.put("movsxd", 8, RAX, place(RCX, 0, RAX, 4));
    asm.put("add", 8, RAX, RCX);
    asm.put("jmp", 8, RAX);
  },
  trap: ({ asm }) => asm.put("ud2", 8),
  return: (emitter, { from: [result] }) => {
    if (result !== undefined) {
      const isVector = typeof result === "number" && emitter.isVector(result);
      const to = isVector ? VECTOR[0] : RAX;
      moveAll(emitter.asm, [{ to, from: emitter.origin(result) }]);
    }
    emitter.leave();
    emitter.asm.put("ret", 8);
  },
  call: (emitter, { to, from, label }) => {
    passArguments(emitter, from);
    emitter.asm.call(emitter.functions(label));
    takeResult(emitter, to);
  },
  "tail call": (emitter, { from, label }) => {
    passArguments(emitter, from);
    emitter.leave();
    emitter.asm.jump(emitter.functions(label));
  },
  "jump out": (emitter, { from: [target, argument] }) => {
    passArguments(emitter, [argument], [{ to: R11, from: emitter.origin(target) }]);
    emitter.leave();
    emitter.asm.put("jmp", 8, R11);
  },
  "call C": (emitter, { to, from, name, wide }) => {
    const { asm } = emitter;
    passArguments(emitter, from);
    // How many vectors there are, for functions with any number of arguments.
    asm.put("xor", 4, RAX, RAX);
    asm.put("call", 8, relative(C_FUNCTION + name));
    if (!wide) asm.put("mov", 4, RAX, RAX);
    takeResult(emitter, to);
  },
  "system call": (emitter, { to, from, number, wide }) => {
    const { asm } = emitter;
    moveAll(
      asm,
      from.map((source, i) => ({ to: GENERAL[SYSTEM_ARGUMENTS[i]], from: emitter.origin(source) })),
    );
    asm.put("mov", 4, RAX, number);
    asm.put("syscall", 8);
    if (!wide) asm.put("mov", 4, RAX, RAX);
    takeResult(emitter, to);
  },
  "thread load": (emitter, { to, from: [at], wide }) => {
    const target = emitter.target(to);
    emitter.asm.put("mov", wide ? 8 : 4, target, threadPlace(emitter, at));
    emitter.settle(to, target);
  },
  "thread store": (emitter, { from: [at, value], wide }) => {
    const where = threadPlace(emitter, at);
    emitter.asm.put("mov", wide ? 8 : 4, where, emitter.register(value, RCX));
  },
  frame: (emitter, { to, name }) => {
    const { asm, frame } = emitter;
    const target = emitter.target(to);
    if (name === "stackPointer") asm.put("lea", 8, target, place(RSP, frame.cfa - 8));
    else if (name === "returnAddress") asm.put("mov", 8, target, place(RSP, frame.cfa - 8));
    else {
      const pushed = frame.pushed.indexOf(RBP.number);
      if (pushed < 0) moveRegister(asm, target, RBP);
      else asm.put("mov", 8, target, place(RSP, frame.cfa - 16 - 8 * pushed));
    }
    emitter.settle(to, target);
  },
  "image address": (emitter, { to, name }) => {
    const target = emitter.target(to);
    emitter.asm.put("lea", 8, target, relative(name));
    emitter.settle(to, target);
  },
};

function threadPlace(emitter: Emitter, at: Source) {
  const { asm } = emitter;
  asm.put("mov", 8, RAX, relative(THREAD_OFFSET));
  const distance = emitter.operand(at, true, RCX);
  if (distance !== 0) asm.put("add", 8, RAX, distance);
  return { ...place(RAX), thread: true };
}

/** Brings arguments to where a function expects them; those that lie on the stack first. */
function passArguments(emitter: Emitter, from: readonly Source[], more: readonly Move[] = []): void {
  const { asm } = emitter;
  const vectors = from.map((source) => typeof source === "number" && emitter.isVector(source));
  const moves: Move[] = [...more];
  arrivals(vectors).forEach(({ register, stack = 0 }, i) => {
    if (register === undefined) {
      asm.put("mov", 8, place(RSP, stack), emitter.register(from[i], RAX));
      return;
    }
    const to: Register = vectors[i] ? VECTOR[register] : GENERAL[ARGUMENTS[register]];
    moves.push({ to, from: emitter.origin(from[i]) });
  });
  moveAll(asm, moves);
}

function takeResult(emitter: Emitter, to: number): void {
  if (to >= 0) emitter.settle(to, emitter.isVector(to) ? VECTOR[0] : RAX);
}
