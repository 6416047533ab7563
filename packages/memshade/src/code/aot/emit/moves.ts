import { type Assembler, type Place, RAX, type Register, VECTOR } from "../../x64/index.ts";
import { loadConstant } from "./constants.ts";

export interface Move {
  to: Register;
  from: Register | Place | bigint;
}

const VECTOR_SCRATCH = VECTOR[15];

/**
 * Moves as if all happened at once. A register that others wait for is written when nobody reads it any more; where all wait
 * for each other, one of them steps aside into a scratch register.
 */
export function moveAll(asm: Assembler, moves: readonly Move[]): void {
  let pending = moves.filter(({ to, from }) => isRegister(from) && from !== to);
  while (pending.length > 0) {
    const free = pending.find((one) => !pending.some((other) => other !== one && other.from === one.to));
    if (free !== undefined) {
      moveRegister(asm, free.to, free.from as Register);
      pending = pending.filter((one) => one !== free);
      continue;
    }
    const source = pending[0].from as Register;
    const scratch = source.kind === "vector" ? VECTOR_SCRATCH : RAX;
    moveRegister(asm, scratch, source);
    pending = pending.map((one) => (one.from === source ? { ...one, from: scratch } : one));
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
