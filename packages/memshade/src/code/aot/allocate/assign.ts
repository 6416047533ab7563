import { type FunctionCode, type Instruction, isAddress, NONE, type Value } from "../code.ts";
import { ALLOCATABLE, ALLOCATABLE_VECTORS, ARGUMENTS, CALLEE_SAVED, maskOf } from "../convention.ts";
import { findRanges, KILLS, POSITIONS, type Ranges } from "./ranges.ts";

/** Where each value lives: a register's number, or NONE for one that lies on the stack. */
export interface Assignment extends Pick<Ranges, "dead" | "readParameters"> {
  registers: Int8Array;
  /** Those of them that the function must give back as it got them. */
  saved: number[];
}

const VECTOR_SHIFT = 16;
const ALL_VECTORS = 0xffff << VECTOR_SHIFT;
/** Saving a register and restoring it. */
const COST_OF_SAVING = 2;
const SAVED_MASK = maskOf(CALLEE_SAVED);

/**
 * Gives registers to values, the heaviest value first: one that no other value has anywhere in its ranges, if possible one that it is
 * moved from or to. A value keeps its place all its life. `limit`: how many registers of each kind are given.
 */
export function assignRegisters(code: FunctionCode, limit = ALLOCATABLE_VECTORS): Assignment {
  const { instructions, vector } = code;
  const { ranges, weights, dead, readParameters } = findRanges(code);
  const registers = new Int8Array(vector.length).fill(NONE);
  const busy = overwritten(instructions, dead);
  const hints = findHints(code, dead);
  const order = [...ranges.keys()].filter((value) => ranges[value].length > 0);
  order.sort((a, b) => weights[b] - weights[a] || a - b);
  const general = ALLOCATABLE.slice(0, limit);
  const vectors = Array.from({ length: Math.min(limit, ALLOCATABLE_VECTORS) }, (_, i) => i);
  let saved = 0;

  for (const value of order) {
    const shift = vector[value] ? VECTOR_SHIFT : 0;
    const taken = takenIn(busy, ranges[value]) >>> shift;
    const choices = vector[value] ? vectors : general;
    const hinted = hints[value].map((hint) => (hint < 0 ? ~hint : registers[hint]));
    const found = [...hinted.filter((one) => choices.includes(one)), ...choices].find((register) => {
      if ((taken & (1 << register)) !== 0) return false;
      const fresh = shift === 0 && (SAVED_MASK & ~saved & (1 << register)) !== 0;
      return !fresh || weights[value] > COST_OF_SAVING;
    });
    if (found === undefined) continue;
    registers[value] = found;
    if (shift === 0) saved |= (1 << found) & SAVED_MASK;
    for (let i = 0; i < ranges[value].length; i += 2)
      for (let at = ranges[value][i]; at < ranges[value][i + 1]; at++) busy[at] |= (1 << found) << shift;
  }
  return { registers, dead, readParameters, saved: CALLEE_SAVED.filter((one) => (saved & (1 << one)) !== 0) };
}

/** At each position the registers that an instruction overwrites: general ones in the lower half. */
function overwritten(instructions: readonly Instruction[], dead: Uint8Array): Uint32Array {
  const busy = new Uint32Array(instructions.length * POSITIONS);
  instructions.forEach(({ kills, killsVectors }, at) => {
    if (dead[at] === 0) busy[at * POSITIONS + KILLS] = kills | (killsVectors ? ALL_VECTORS : 0);
  });
  return busy;
}

function takenIn(busy: Uint32Array, ranges: readonly number[]): number {
  let taken = 0;
  for (let i = 0; i < ranges.length; i += 2)
    for (let at = ranges[i]; at < ranges[i + 1]; at++) taken |= busy[at];
  return taken;
}

/** For each value the values whose register saves a move, and registers, as their complement. */
function findHints(code: FunctionCode, dead: Uint8Array): number[][] {
  const { instructions, vector, parameters } = code;
  const hints: number[][] = vector.map(() => []);
  const join = (a: Value, b: Value) => {
    hints[a].push(b);
    hints[b].push(a);
  };
  const arrive = (values: readonly unknown[]) => {
    let general = 0;
    let vectors = 0;
    for (const value of values) {
      const isVector = typeof value === "number" && vector[value];
      const register = isVector ? vectors++ : ARGUMENTS[general++];
      if (typeof value === "number" && register !== undefined) hints[value].push(~register);
    }
  };
  arrive(parameters);
  instructions.forEach(({ op, to, from }, at) => {
    if (dead[at] !== 0) return;
    if (op === "call" || op === "tail call" || op === "call C") arrive(from);
    else if (to !== NONE)
      for (const source of from.slice(0, op === "select" ? 4 : 1)) {
        const value = isAddress(source) ? source.base : source;
        if (typeof value === "number" && value !== NONE && vector[value] === vector[to]) join(to, value);
      }
  });
  return hints;
}
