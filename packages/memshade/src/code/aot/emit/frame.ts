import type { Assignment } from "../allocate/assign.ts";
import { type FunctionCode, NONE, type Value } from "../code.ts";
import { STACK_ARGUMENTS_FROM } from "../convention.ts";

const WORD = 8;
const VECTOR_BYTES = 16;
const ALIGNMENT = 16;

/**
 * The stack frame of a function. From below: arguments of calls, values without a register, saved registers, return address,
 * arguments of this function.
 */
export interface Frame {
  /** What is subtracted behind the pushes. */
  bytes: number;
  /** Registers that are pushed, in this order. */
  pushed: readonly number[];
  /** Of values without register, their distance from the stack pointer. */
  slots: ReadonlyMap<Value, number>;
  /** Distance from the stack pointer to what it was before the call. */
  cfa: number;
}

/** `base`: the register of linear memory is saved too. */
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
  // Whoever is called finds the stack aligned.
  if (calls) bytes += (ALIGNMENT - ((bytes + outer) % ALIGNMENT)) % ALIGNMENT;
  return { bytes, pushed, slots, cfa: bytes + outer };
}

/** Where the parameters of a function arrive: the number of a register of their kind, or the distance from `cfa`. */
export function arrivals(vectors: readonly boolean[]): { register?: number; stack?: number }[] {
  let general = 0;
  let vector = 0;
  return vectors.map((isVector) => {
    if (isVector) return { register: vector++ };
    if (general < STACK_ARGUMENTS_FROM) return { register: general++ };
    return { stack: (general++ - STACK_ARGUMENTS_FROM) * WORD };
  });
}
