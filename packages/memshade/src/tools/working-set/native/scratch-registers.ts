import {
  LEAVE_RED_ZONE,
  popBytes,
  pushBytes,
  SKIP_RED_ZONE,
} from "../../../native/rewrite/insertion/red-zone.ts";
import { FLAGS } from "../../../x64/decode/index.ts";
import { GENERAL, RAX, RBP, RBX, RCX, RDI, RDX, RSI } from "../../../x64/index.ts";

/** Registers in the order in which dead ones are taken: those that calls overwrite stand first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)].map(
  ({ number }) => number,
);
const REGISTERS = SCRATCH.reduce((mask, register) => mask | (1 << register), 0);

export const [PUSH_FLAGS, POP_FLAGS] = [0x9c, 0x9d];

/** What saving flags costs, in registers saved. */
const FLAGS_COST = 2;

/**
 * In front of which instruction of `[from, to]` code that needs the flags and a register has to save the least.
 *
 * @param uses mask of the registers that the code reads
 */
export function cheapestPlace(
  from: number,
  to: number,
  uses: number,
  liveBefore: (instruction: number) => number,
): number {
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i <= to && least > 0; i++) {
    const taken = liveBefore(i);
    const cost =
      ((taken & FLAGS) === 0 ? 0 : FLAGS_COST) + (((taken | uses) & REGISTERS) === REGISTERS ? 1 : 0);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

/** Code that overwrites a register and the flags, with what is live of them on the stack meanwhile. */
export interface SavedCode {
  readonly bytes: number[];
  /** Bytes in front of the code. */
  readonly before: number;
}

/** @param live mask of what may not be lost; `uses`: what the code reads besides */
export function withScratch(live: number, uses: number, code: (register: number) => number[]): SavedCode {
  const flagsAreLive = (live & FLAGS) !== 0;
  const dead = SCRATCH.find((register) => ((live | uses) & (1 << register)) === 0);
  if (dead !== undefined && !flagsAreLive) return { bytes: code(dead), before: 0 };
  const register = dead ?? (SCRATCH.find((one) => (uses & (1 << one)) === 0) as number);
  const enter = [
    ...SKIP_RED_ZONE,
    ...(dead === undefined ? pushBytes(register) : []),
    ...(flagsAreLive ? [PUSH_FLAGS] : []),
  ];
  const leave = [
    ...(flagsAreLive ? [POP_FLAGS] : []),
    ...(dead === undefined ? popBytes(register) : []),
    ...LEAVE_RED_ZONE,
  ];
  return { bytes: [...enter, ...code(register), ...leave], before: enter.length };
}
