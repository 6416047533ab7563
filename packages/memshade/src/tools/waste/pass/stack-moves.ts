import { ValueClass, type ValueNumbers } from "../../../rewrite/walk/value-numbers.ts";

/** Sizes of frames that have functions of their own: multiples of this, up to the largest. */
const STEP_BYTES = 16;
const MOST_BYTES = 128;

/**
 * Finds the functions that take the place of setting the stack pointer. Those for frames of one size look themselves whether it
 * moves by that, so what the code seems to show need not be so.
 */
export class StackMoves {
  readonly #general: number;
  readonly #target: (name: string) => number;
  /** What the function at hand has last set it to: a value number and an offset. */
  #value = 0;
  #offset = 0;
  /** Bytes that it last moved down. */
  #frame = 0;

  /** `target`: a function of the runtime by its name, −1 if it has none of that. */
  constructor(general: number, target: (name: string) => number) {
    this.#general = general;
    this.#target = target;
  }

  /** Another function begins. */
  begin(): void {
    this.#value = 0;
    this.#frame = 0;
  }

  /** What to call with a value that the stack pointer is set to. */
  setter(value: number, offset: number, { classes }: ValueNumbers): number {
    let move = this.#frame;
    if (value !== 0 && value === this.#value) move = offset - this.#offset;
    else if (classes[value] === ValueClass.Stack) move = offset;
    this.#value = value;
    this.#offset = offset;
    if (move < 0) this.#frame = -move;
    const size = Math.abs(move);
    if (this.#general < 0 || size === 0 || size > MOST_BYTES || size % STEP_BYTES !== 0) return this.#general;
    const special = this.#target(`${move < 0 ? "began" : "ended"}${size}`);
    return special < 0 ? this.#general : special;
  }
}
