import { FLAGS } from "../../../../code/x64/decode/index.ts";
import { GENERAL, RAX, RBP, RBX, RCX, RDI, RDX, RSI } from "../../../../code/x64/index.ts";
import {
  GIVE_FLAGS,
  LEAVE_RED_ZONE,
  moveRegister,
  popBytes,
  pushBytes,
  SKIP_RED_ZONE,
  TAKE_FLAGS,
} from "../../rewrite/insertion/red-zone.ts";

/** Preference order for scratch registers: caller-saved ones first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)].map(
  ({ number }) => number,
);
const REGISTERS = SCRATCH.reduce((mask, register) => mask | (1 << register), 0);

const RAX_BIT = 1 << RAX.number;

/** Cost of saving the flags, in registers. */
const FLAGS_COST = 2;

/**
 * Returns the instruction of `[from, to]` before which code that needs the flags and a register saves the least.
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
    const unavailable = liveBefore(i);
    const cost =
      ((unavailable & FLAGS) === 0 ? 0 : FLAGS_COST) +
      (((unavailable | uses) & REGISTERS) === REGISTERS ? 1 : 0);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

/** Code that overwrites a register and the flags, with code that saves live ones. */
export interface SavedCode {
  readonly bytes: number[];
  readonly before: number;
}

/** Generates code. `register` may be overwritten; `holderOf` returns the register that holds another one's value. */
export type ScratchCode = (register: number, holderOf: (register: number) => number) => number[];

export function withFlags(live: number, code: number[]): SavedCode {
  return withScratch(live, 0, () => code, 0);
}

/**
 * @param live mask of registers and flags to keep; `uses`: registers that the code reads besides; `wanted`: registers
 * that it overwrites, 0 or 1
 */
export function withScratch(live: number, uses: number, code: ScratchCode, wanted = 1): SavedCode {
  const flagsAreLive = (live & FLAGS) !== 0;
  const unavailable = live | uses;
  // Saving the flags needs rax.
  const isRaxKept = flagsAreLive && (unavailable & RAX_BIT) !== 0;
  const free = SCRATCH.filter(
    (register) => (unavailable & (1 << register)) === 0 && !(flagsAreLive && register === RAX.number),
  );
  const missing = wanted + (isRaxKept ? 1 : 0) - free.length;
  const saved = SCRATCH.filter(
    (register) => register !== RAX.number && (uses & (1 << register)) === 0 && !free.includes(register),
  ).slice(0, Math.max(missing, 0));
  const available = [...free, ...saved];
  const [register, keeper] = [available[0], available[wanted]];
  const enter = [
    ...(saved.length === 0 ? [] : SKIP_RED_ZONE),
    ...saved.flatMap(pushBytes),
    ...(isRaxKept ? moveRegister(RAX.number, keeper) : []),
    ...(flagsAreLive ? TAKE_FLAGS : []),
  ];
  const leave = [
    ...(flagsAreLive ? GIVE_FLAGS : []),
    ...(isRaxKept ? moveRegister(keeper, RAX.number) : []),
    ...saved.toReversed().flatMap(popBytes),
    ...(saved.length === 0 ? [] : LEAVE_RED_ZONE),
  ];
  const holderOf = (register: number): number => (isRaxKept && register === RAX.number ? keeper : register);
  return { bytes: [...enter, ...code(register, holderOf), ...leave], before: enter.length };
}
