import {
  type Assembler,
  GENERAL,
  invert,
  type Label,
  type OperandSize,
  place,
  R11,
  R15,
  RAX,
  RBP,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
  relative,
  VECTOR,
} from "../../x64/index.ts";
import type { Assignment } from "../allocate.ts";
import {
  type Address,
  type FunctionCode,
  type Instruction,
  isAddress,
  isConstant,
  type Source,
  signedValue,
} from "../code.ts";
import { ARGUMENTS, SYSTEM_ARGUMENTS } from "../convention.ts";
import {
  arrivals,
  Emitter,
  type Frame,
  INTEGER_WRITERS,
  layOutFrame,
  type Move,
  moveAll,
  moveRegister,
} from "./emitter.ts";

export interface StackRow {
  at: Label;
  cfa: number;
  /** Number of the register that is saved `cfa` bytes below that address from here on. */
  pushed?: number;
}

export interface WrittenFunction {
  start: Label;
  end: Label;
  rows: StackRow[];
}

export interface Entry {
  /** Loads the base of linear memory, and calls the opener if the base is 0. */
  loadsBase: boolean;
  opener: Label | undefined;
}

/** Symbol of the word with the address of linear memory. */
export const MEMORY_SLOT = "memory";

const FUNCTION_ALIGNMENT = 16;
/** Instructions after which the stack is as it was before the prologue. */
const LEAVING: readonly string[] = ["return", "tail call", "jump out"];

export function emitFunction(
  asm: Assembler,
  code: FunctionCode,
  assignment: Assignment,
  entry: Entry,
  functions: (index: number) => Label,
): WrittenFunction {
  const frame = layOutFrame(code, assignment, entry.loadsBase ? R15.number : undefined);
  const start = functions(code.index);
  const rows: StackRow[] = [];
  asm.align(FUNCTION_ALIGNMENT);
  asm.bind(start);
  enter(asm, frame, entry, rows);
  const emitter = new Emitter(asm, code, assignment, frame, {
    functions,
    leave: () => leave(asm, frame, rows),
  });
  takeParameters(emitter, assignment);
  const written = code.instructions.filter(
    (instruction, at) => assignment.dead[at] === 0 && !emitter.isIdle(instruction),
  );
  for (const instruction of straighten(written)) {
    WRITERS[instruction.op](emitter, instruction);
    if (LEAVING.includes(instruction.op)) rows.push({ at: asm.here(), cfa: frame.cfa });
  }
  return { start, end: asm.here(), rows };
}

function enter(asm: Assembler, frame: Frame, { loadsBase, opener }: Entry, rows: StackRow[]): void {
  let cfa = 8;
  rows.push({ at: asm.here(), cfa });
  for (const register of frame.pushed) {
    asm.put("push", 8, GENERAL[register]);
    cfa += 8;
    rows.push({ at: asm.here(), cfa, pushed: register });
  }
  if (frame.bytes > 0) {
    asm.put("sub", 8, RSP, frame.bytes);
    rows.push({ at: asm.here(), cfa: frame.cfa });
  }
  if (!loadsBase) return;
  asm.put("mov", 8, R15, relative(MEMORY_SLOT));
  if (opener === undefined) return;
  const isOpen = asm.label();
  asm.put("test", 8, R15, R15);
  asm.jump(isOpen, "ne");
  asm.call(opener);
  asm.bind(isOpen);
}

function leave(asm: Assembler, frame: Frame, rows: StackRow[]): void {
  let { cfa } = frame;
  if (frame.bytes > 0) {
    asm.put("add", 8, RSP, frame.bytes);
    cfa -= frame.bytes;
    rows.push({ at: asm.here(), cfa });
  }
  for (const register of [...frame.pushed].reverse()) {
    asm.put("pop", 8, GENERAL[register]);
    cfa -= 8;
    rows.push({ at: asm.here(), cfa });
  }
}

/**
 * Moves the parameters that are read to their homes. Parameters on the stack go first, since that frees registers.
 */
function takeParameters(emitter: Emitter, { readParameters }: Assignment): void {
  const { asm, code, frame } = emitter;
  const moves: Move[] = [];
  const fromStack: (() => void)[] = [];
  arrivals(code.parameters.map((value) => code.vector[value])).forEach(({ register, stack = 0 }, i) => {
    if (!readParameters[i]) return;
    const isVector = code.vector[i];
    const isNarrow = !code.wideParameters[i];
    const home = emitter.home(i);
    if (register === undefined) {
      fromStack.push(() => {
        const target = emitter.target(i);
        asm.put("mov", isNarrow ? 4 : 8, target, place(RSP, frame.cfa + stack));
        emitter.settle(i, target);
      });
      return;
    }
    const from: Register = isVector ? VECTOR[register] : GENERAL[ARGUMENTS[register]];
    // External callers may leave anything in the upper half.
    if (isNarrow && code.exported) asm.put("mov", 4, from, from);
    if (home.kind === "place") emitter.settle(i, from);
    else moves.push({ to: home, from });
  });
  moveAll(asm, moves);
  for (const take of fromStack) take();
}

/** Removes jumps to the next instruction, and merges a branch around a jump into one branch. */
export function straighten(instructions: readonly Instruction[]): Instruction[] {
  const straight: Instruction[] = [];
  for (let at = 0; at < instructions.length; at++) {
    const instruction = instructions[at];
    const next = instructions[at + 1];
    const { op, label, condition } = instruction;
    if (op === "jump" && isLabelAt(instructions, at + 1, label)) continue;
    if (op === "branch" && next?.op === "jump" && isLabelAt(instructions, at + 2, label)) {
      straight.push({ ...instruction, condition: invert(condition), label: next.label });
      at++;
    } else straight.push(instruction);
  }
  return straight;
}

function isLabelAt(instructions: readonly Instruction[], from: number, label: number): boolean {
  for (let at = from; instructions[at]?.op === "label"; at++)
    if (instructions[at].label === label) return true;
  return false;
}

type Writer = (emitter: Emitter, instruction: Instruction) => void;

export const C_FUNCTION = "c:";
const THREAD_OFFSET = "thread";

const CONTROL_WRITERS: Readonly<Record<string, Writer>> = {
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
    // Number of vector arguments, for functions with variable arguments.
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
    const slot = threadPlace(emitter, at);
    emitter.asm.put("mov", wide ? 8 : 4, slot, emitter.register(value, RCX));
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

const MEMORY_WRITERS: Readonly<Record<string, Writer>> = {
  load: (emitter, { to, from: [source], bytes, wide, signed }) => {
    const { asm } = emitter;
    const target = emitter.target(to);
    const from = isAddress(source)
      ? emitter.place(source, RCX)
      : isConstant(source)
        ? emitter.register(source, RCX)
        : emitter.home(source);
    const size = wide ? 8 : 4;
    // An unsigned load of 32 bits clears the upper half of the register.
    if (bytes === 8) asm.put("mov", 8, target, from);
    else if (bytes < 4) {
      const suffix = bytes === 1 ? "b" : "w";
      if (signed) asm.put(`movsx.${suffix}`, size, target, from);
      else asm.put(`movzx.${suffix}`, 4, target, from);
    } else if (signed && wide) asm.put("movsxd", 8, target, from);
    else asm.put("mov", 4, target, from);
    emitter.settle(to, target);
  },
  store: (emitter, { from: [address, value], bytes }) => {
    const at = emitter.place(address as Address, RCX);
    emitter.asm.put("mov", bytes as OperandSize, at, stored(emitter, value, bytes));
  },
  update: (emitter, { from: [address, value], name, bytes }) => {
    const at = emitter.place(address as Address, RCX);
    const size = bytes as OperandSize;
    const operand = isConstant(value)
      ? emitter.operand(value, bytes === 8, RAX)
      : emitter.register(value, RAX);
    emitter.asm.put(name, size, at, operand);
  },
  exchange: (emitter, { to, from: [address, value], name, bytes }) => {
    const { asm } = emitter;
    const at = emitter.place(address as Address, RCX);
    moveRegister(asm, RAX, emitter.register(value, RAX));
    asm.put(name, bytes as OperandSize, at, RAX);
    emitter.settle(to, RAX);
  },
  "compare exchange": (emitter, { to, from: [address, expected, replacement], bytes }) => {
    const { asm } = emitter;
    const at = emitter.place(address as Address, RCX);
    moveRegister(asm, RAX, emitter.register(expected, RAX));
    asm.put("lock cmpxchg", bytes as OperandSize, at, emitter.register(replacement, RDX));
    // The instruction writes rax only if the values differ. The upper half of rax must therefore be cleared here.
    if (bytes === 4) asm.put("mov", 4, RAX, RAX);
    emitter.settle(to, RAX);
  },
  fence: ({ asm }) => asm.put("mfence", 8),
  fill: (emitter, { from: [destination, value, length] }) => {
    const { asm } = emitter;
    moveAll(asm, [
      { to: RAX, from: emitter.origin(value) },
      { to: RCX, from: emitter.origin(length) },
      { to: RDI, from: emitter.origin(destination) },
    ]);
    asm.put("add", 8, RDI, R15);
    asm.put("rep stosb", 8);
  },
  copy: (emitter, { from: [destination, source, length] }) => {
    const { asm } = emitter;
    moveAll(asm, [
      { to: RCX, from: emitter.origin(length) },
      { to: RDI, from: emitter.origin(destination) },
      { to: RSI, from: emitter.origin(source) },
    ]);
    const [forwards, done] = [asm.label(), asm.label()];
    asm.put("mov", 8, RAX, RDI);
    asm.put("sub", 8, RAX, RSI);
    asm.put("add", 8, RDI, R15);
    asm.put("add", 8, RSI, R15);
    // If the destination begins inside the source, the end must be copied before it is overwritten.
    asm.put("cmp", 8, RAX, RCX);
    asm.jump(forwards, "ae");
    asm.put("lea", 8, RDI, place(RDI, -1, RCX));
    asm.put("lea", 8, RSI, place(RSI, -1, RCX));
    asm.put("std", 8);
    asm.put("rep movsb", 8);
    asm.put("cld", 8);
    asm.jump(done);
    asm.bind(forwards);
    asm.put("rep movsb", 8);
    asm.bind(done);
  },
};

/** Returns the operand of a store of `bytes`; only the lower bytes count. */
function stored(emitter: Emitter, value: Instruction["from"][number], bytes: number) {
  if (!isConstant(value)) return emitter.register(value, RAX);
  if (bytes === 8) return emitter.operand(value, true, RAX);
  const bits = BigInt.asUintN(8 * bytes, signedValue(value, false));
  return Number(bits);
}

const [FIRST, SECOND] = [VECTOR[15], VECTOR[14]];
const ORDERED = ["pandn", "psub", "ps", "pcmpgt", "pack", "pshufb", "punpck"];
const PART_SUFFIX: Readonly<Record<number, string>> = { 1: "b", 2: "w", 4: "d", 8: "q" };

const VECTOR_WRITERS: Readonly<Record<string, Writer>> = {
  vector: (emitter, { to, from, name }) => {
    const { asm } = emitter;
    let [left, right] = from;
    let target = emitter.target(to, FIRST);
    if (emitter.uses(right, target) && !emitter.uses(left, target))
      if (ORDERED.some((prefix) => name.startsWith(prefix))) target = FIRST;
      else [left, right] = [right, left];
    // A spilled operand is loaded first: as a memory operand it would need an alignment of 16.
    const operand = emitter.register(right, SECOND);
    moveRegister(asm, target, emitter.register(left, target));
    asm.put(name, 8, target, operand);
    emitter.settle(to, target);
  },
  "vector with number": (emitter, { to, from: [source], name, number, bytes }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    if (bytes === 0) asm.put(name, 8, target, emitter.register(source, SECOND), number);
    else {
      moveRegister(asm, target, emitter.register(source, target));
      asm.put(name, 8, target, number);
    }
    emitter.settle(to, target);
  },
  "vector constant": (emitter, { to, content = new Uint8Array(16) }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    if (content.every((byte) => byte === 0)) asm.put("pxor", 8, target, target);
    else if (content.every((byte) => byte === 0xff)) asm.put("pcmpeqd", 8, target, target);
    else asm.put("movups", 8, target, relative(asm.literal(content)));
    emitter.settle(to, target);
  },
  "vector load": (emitter, { to, from: [address], bytes }) => {
    const target = emitter.target(to, FIRST);
    const mnemonic = bytes === 16 ? "movups" : bytes === 8 ? "movq" : "movd";
    emitter.asm.put(mnemonic, bytes === 4 ? 4 : 8, target, emitter.place(address as Address, RCX));
    emitter.settle(to, target);
  },
  "vector store": (emitter, { from: [address, value] }) => {
    emitter.asm.put("movups", 8, emitter.place(address as Address, RCX), emitter.register(value, FIRST));
  },
  insert: (emitter, { to, from: [vector, part], bytes, number }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    const operand = isConstant(part) ? emitter.register(part, RAX) : emitter.home(part as number);
    moveRegister(asm, target, emitter.register(vector, target));
    asm.put(`pinsr${PART_SUFFIX[bytes]}`, partSize(bytes), target, operand, number);
    emitter.settle(to, target);
  },
  extract: (emitter, { to, from: [vector], bytes, number }) => {
    const { asm } = emitter;
    const target = emitter.target(to, RAX);
    const source = emitter.register(vector, FIRST);
    if (number === 0 && bytes >= 4) asm.put(bytes === 8 ? "movq" : "movd", partSize(bytes), target, source);
    else asm.put(`pextr${PART_SUFFIX[bytes]}`, partSize(bytes), target, source, number);
    emitter.settle(to, target);
  },
  signs: (emitter, { to, from: [vector], name }) => {
    const target = emitter.target(to, RAX);
    emitter.asm.put(name, 4, target, emitter.register(vector, FIRST));
    emitter.settle(to, target);
  },
  "to vector": (emitter, { to, from: [source], bytes }) => {
    const target = emitter.target(to, FIRST);
    emitter.asm.put(bytes === 8 ? "movq" : "movd", partSize(bytes), target, emitter.register(source, RAX));
    emitter.settle(to, target);
  },
};

function partSize(bytes: number): OperandSize {
  return bytes === 8 ? 8 : 4;
}

const WRITERS = { ...CONTROL_WRITERS, ...INTEGER_WRITERS, ...MEMORY_WRITERS, ...VECTOR_WRITERS };
