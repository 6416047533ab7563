import { type FunctionCode, isConstant, NONE, valuesOf } from "../code.ts";
import { findLiveness } from "./liveness.ts";

/*
 * Instruction k has three positions: at 3k it reads, at 3k + 1 it overwrites what it overwrites, at 3k + 2 it writes its result. So a
 * result may take the register of an operand that nobody reads later.
 */
export const KILLS = 1;
export const WRITES = 2;
export const POSITIONS = 3;

/** What is known of each value. */
export interface Ranges {
  /** Pairs: the value has to be kept in `[from, to)`. */
  ranges: number[][];
  /** How often it is used, a use in a loop counting 8 times. */
  weights: Float64Array;
  /** Instructions whose result nobody reads and that do nothing else. */
  dead: Uint8Array;
  /** Of the parameters, whether their first content is read at all. */
  readParameters: boolean[];
}

const LOOP_FACTOR = 8;

export function findRanges(code: FunctionCode): Ranges {
  const { instructions, vector, parameters } = code;
  const { blocks, liveOut } = findLiveness(code);
  const ranges: number[][] = vector.map(() => []);
  const weights = new Float64Array(vector.length);
  const dead = new Uint8Array(instructions.length);
  const readParameters = parameters.map(() => false);
  /** Where the value's range ends that is open; 0 where none is. */
  const open = new Uint32Array(vector.length);

  for (let i = blocks.length - 1; i >= 0; i--) {
    const { start, end } = blocks[i];
    forEachBit(liveOut[i], (value) => {
      open[value] = end * POSITIONS;
    });
    for (let at = end - 1; at >= start; at--) {
      const { to, from, depth, late, effect } = instructions[at];
      const weight = LOOP_FACTOR ** depth;
      const position = at * POSITIONS;
      if (to !== NONE) {
        if (open[to] === 0 && !effect) {
          dead[at] = 1;
          continue;
        }
        ranges[to].push(position + WRITES, Math.max(open[to], position + POSITIONS));
        open[to] = 0;
        weights[to] += weight;
      }
      for (const source of from) {
        if (isConstant(source)) continue;
        for (const value of valuesOf(source)) {
          weights[value] += weight;
          // An operand that was open is read again further down.
          if (open[value] === 0) open[value] = position + (late ? WRITES : KILLS);
        }
      }
    }
    for (let value = 0; value < open.length; value++) {
      if (open[value] === 0) continue;
      ranges[value].push(start * POSITIONS, open[value]);
      open[value] = 0;
      if (start === 0 && value < parameters.length) readParameters[value] = true;
    }
  }
  return { ranges, weights, dead, readParameters };
}

function forEachBit(set: Uint32Array, use: (bit: number) => void): void {
  set.forEach((word, i) => {
    for (let rest = word; rest !== 0; rest &= rest - 1) use(i * 32 + 31 - Math.clz32(rest & -rest));
  });
}
