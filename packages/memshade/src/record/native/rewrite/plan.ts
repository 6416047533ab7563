import type { Code } from "./code.ts";

/** A block as a tool sees it. */
export interface BlockView {
  readonly code: Code;
  /** Its instructions: `[first, last)`. */
  readonly first: number;
  readonly last: number;
  /** Registers and flags that may still be read, by instruction from `first` on. */
  readonly live: Int32Array;
}

/** Code that a tool wants in front of an instruction. */
export interface Insertion {
  readonly before: number;
  /**
   * `last`: right in front of it, since the stack pointer stays moved until what is behind it. `behind`: behind that instruction, which goes on to
   * what follows; what jumps there does not come by.
   */
  readonly where?: "last" | "behind";
  /** Machine code that runs wherever it lies, but for `distances`. Where it moves the stack pointer, it begins with `SKIP_RED_ZONE`. */
  readonly bytes: readonly number[];
  /** More of it, which runs seldom: it is put behind all functions, and only jumps lead there and back. */
  readonly cold?: readonly number[];
  readonly distances?: readonly InsertedDistance[];
}

/** Four bytes that lead from the instruction that they end to somewhere else. */
export interface InsertedDistance {
  readonly part: "bytes" | "cold";
  /** Where in that part they stand, and how many bytes of their instruction follow them. */
  readonly at: number;
  readonly tail: number;
  /** `common`: what the tool has once for all functions; `old`: an offset of the old code, from the base of `Code`. */
  readonly to: "bytes" | "cold" | "common" | "old";
  readonly offset: number;
}

/** What a tool is to the rewriter: it says what is inserted in a block, in the order that `inOrder` makes. */
export interface PlanBlock {
  (block: BlockView): readonly Insertion[];
  /**
   * Stacks are taken while inserted code runs: there is call frame information of where it moves the stack pointer, and of routines of
   * `common` that it calls.
   */
  readonly isWalked?: boolean;
  /** Code that insertions call or jump to, once in a file; read when all blocks have been asked for. */
  readonly common?: Uint8Array;
}

const TURNS = { first: 0, last: 1, behind: 2 } as const;

/** Sorts insertions by their instructions, and those of one by where they stand. */
export function inOrder<T extends Insertion>(insertions: T[]): T[] {
  const turn = ({ where }: Insertion): number => TURNS[where ?? "first"];
  return insertions.sort((a, b) => a.before - b.before || turn(a) - turn(b));
}
