import type { Code } from "./code.ts";
import type { FlowGraph } from "./flow-graph.ts";

/** A basic block, as input for a tool. */
export interface BlockView {
  readonly code: Code;
  readonly graph: FlowGraph;
  /** Number of the block in the graph. */
  readonly block: number;
  /** Instructions `[first, last)`. */
  readonly first: number;
  readonly last: number;
  /** Registers and flags that may still be read, before each instruction from `first` on. */
  readonly live: Int32Array;
}

/** Code that a tool inserts before an instruction. */
export interface Insertion {
  readonly before: number;
  /**
   * `last`: directly before the instruction, because the stack pointer stays moved until the following
   * insertion. `behind`: after the instruction, if control continues there; jumps to the next instruction
   * skip it.
   */
  readonly position?: "last" | "behind";
  /**
   * Position-independent machine code, except for `distances`. If it moves the stack pointer, it begins with
   * `SKIP_RED_ZONE`.
   */
  readonly bytes: readonly number[];
  /** Rarely executed code, placed behind all functions and reached by jumps. */
  readonly cold?: readonly number[];
  readonly distances?: readonly InsertedDistance[];
}

/** A 4-byte displacement to another address. */
export interface InsertedDistance {
  readonly part: "bytes" | "cold";
  /** Offset of the displacement in the part, and number of bytes that follow it in its instruction. */
  readonly at: number;
  readonly tail: number;
  /** `common`: code that the tool has once; `old`: an offset in the old code, from `Code.base`. */
  readonly to: "bytes" | "cold" | "common" | "old";
  readonly offset: number;
}

/** Plans the insertions of a block, in the order of `inOrder`. */
export interface PlanBlock {
  (block: BlockView): readonly Insertion[];
  /**
   * Stacks are walked while inserted code runs. Call frame information is then written for insertions that
   * move the stack pointer, and for `common` routines.
   */
  readonly isWalked?: boolean;
  /** Code that insertions call or jump to, once per file. Read after all blocks are planned. */
  readonly common?: Uint8Array;
}

const TURNS = { first: 0, last: 1, behind: 2 } as const;

/** Sorts insertions by instruction, then by position. */
export function inOrder<T extends Insertion>(insertions: T[]): T[] {
  const turn = ({ position: where }: Insertion): number => TURNS[where ?? "first"];
  return insertions.sort((a, b) => a.before - b.before || turn(a) - turn(b));
}
