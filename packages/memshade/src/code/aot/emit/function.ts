import {
  type Assembler,
  GENERAL,
  invert,
  type Label,
  place,
  R15,
  type Register,
  RSP,
  relative,
  VECTOR,
} from "../../x64/index.ts";
import type { Assignment } from "../allocate/assign.ts";
import type { FunctionCode, Instruction } from "../code.ts";
import { ARGUMENTS } from "../convention.ts";
import { CONTROL_WRITERS } from "./control.ts";
import { Emitter } from "./emitter.ts";
import { arrivals, type Frame, layOutFrame } from "./frame.ts";
import { INTEGER_WRITERS } from "./integers.ts";
import { MEMORY_WRITERS } from "./memory.ts";
import { type Move, moveAll } from "./moves.ts";
import { VECTOR_WRITERS } from "./vectors.ts";

/** From `at` on, the stack pointer before the call is `cfa` bytes above the stack pointer. */
export interface StackRow {
  at: Label;
  cfa: number;
  /** The register that lies at `cfa` bytes below that from here on, by its number. */
  pushed?: number;
}

/** A function as it was written. */
export interface WrittenFunction {
  start: Label;
  end: Label;
  rows: StackRow[];
}

/** What the prologue of a function does. */
export interface Entry {
  /** Loads the base of linear memory, and what opens the memory where that is 0. */
  loadsBase: boolean;
  opener: Label | undefined;
}

/** The symbol of the word with the address of linear memory. */
export const MEMORY_SLOT = "memory";

const WRITERS = { ...CONTROL_WRITERS, ...INTEGER_WRITERS, ...MEMORY_WRITERS, ...VECTOR_WRITERS };
const FUNCTION_ALIGNMENT = 16;
/** Behind these the stack is again as it was before. */
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
  const written = code.instructions.filter((one, at) => assignment.dead[at] === 0 && !emitter.isIdle(one));
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

/** Brings the parameters that are read to where they live: those that go to the stack first, since that frees registers. */
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
    // Callers from outside leave anything in the upper half.
    if (isNarrow && code.exported) asm.put("mov", 4, from, from);
    if (home.kind === "place") emitter.settle(i, from);
    else moves.push({ to: home, from });
  });
  moveAll(asm, moves);
  for (const take of fromStack) take();
}

/** Leaves out jumps to what follows anyway, and makes one of a branch around a jump. */
export function straighten(instructions: readonly Instruction[]): Instruction[] {
  const straight: Instruction[] = [];
  for (let at = 0; at < instructions.length; at++) {
    const instruction = instructions[at];
    const next = instructions[at + 1];
    const { op, label, condition } = instruction;
    if (op === "jump" && stands(instructions, at + 1, label)) continue;
    if (op === "branch" && next?.op === "jump" && stands(instructions, at + 2, label)) {
      straight.push({ ...instruction, condition: invert(condition), label: next.label });
      at++;
    } else straight.push(instruction);
  }
  return straight;
}

/** Whether a label is one of those that stand here. */
function stands(instructions: readonly Instruction[], from: number, label: number): boolean {
  for (let at = from; instructions[at]?.op === "label"; at++)
    if (instructions[at].label === label) return true;
  return false;
}
