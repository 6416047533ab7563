import type { Instruction } from "../code.ts";
import { invert } from "../lower/integers.ts";

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
