import { grown } from "../../../ground/bytes/grown.ts";

/**
 * The structured blocks of a module's functions, by the instructions that open them and in the order of the code, in
 * columns. A defined function `i` has those from `first[i]` to `first[i + 1]`. Its body is no block of its own: a block's
 * parent is −1 there.
 */
export interface ControlFlow {
  first: Int32Array;
  /** `block`, `loop`, `if`, `try` or `try_table`, and its offset. */
  opcode: Int32Array;
  start: Int32Array;
  /** Offset of the `end` or `delegate` that closes it. */
  end: Int32Array;
  parent: Int32Array;
  /** Number of the loop, as `ModuleScan.assignedFirst` counts them; −1 for other blocks. */
  loop: Int32Array;
  /** The block's first further arm, −1 if it has one arm alone: an index of the two columns below. */
  arm: Int32Array;
  /** Offsets of `else`, `catch` and `catch_all`, and the arm of the same block that follows, −1 for its last. */
  armStart: Int32Array;
  nextArm: Int32Array;
}

/** Offset of the instruction that ends the arm of `block` in which `position` is: the start of another arm, or its end. */
export function armEnd(
  { arm, armStart, nextArm, end }: ControlFlow,
  block: number,
  position: number,
): number {
  for (let i = arm[block]; i >= 0; i = nextArm[i]) if (armStart[i] >= position) return armStart[i];
  return end[block];
}

/** Collects the blocks of one function after another. */
export class ControlFlowBuilder {
  readonly #first: Int32Array;
  #opcode = new Int32Array(1024);
  #start = new Int32Array(1024);
  #end = new Int32Array(1024);
  #parent = new Int32Array(1024);
  #loop = new Int32Array(1024);
  #arm = new Int32Array(1024);
  /** The arm found last, as long as a block is open. */
  #lastArm = new Int32Array(1024);
  #armStart = new Int32Array(256);
  #nextArm = new Int32Array(256);
  #count = 0;
  #arms = 0;
  /** The innermost open block, −1: the function's body. */
  innermost = -1;

  constructor(functions: number) {
    this.#first = new Int32Array(functions + 1);
  }

  /** `loop`: its number, −1 for other blocks. */
  open(opcode: number, start: number, loop: number): void {
    const block = this.#count++;
    if (block === this.#opcode.length) this.#grow();
    this.#opcode[block] = opcode;
    this.#start[block] = start;
    this.#parent[block] = this.innermost;
    this.#loop[block] = loop;
    this.#arm[block] = -1;
    this.innermost = block;
  }

  /** Another arm of the innermost block begins. */
  arm(start: number): void {
    const block = this.innermost;
    // Only code that is not valid has an arm outside of blocks.
    if (block < 0) return;
    const arm = this.#arms++;
    if (arm === this.#armStart.length) {
      this.#armStart = grown(this.#armStart, arm * 2);
      this.#nextArm = grown(this.#nextArm, arm * 2);
    }
    this.#armStart[arm] = start;
    this.#nextArm[arm] = -1;
    if (this.#arm[block] < 0) this.#arm[block] = arm;
    else this.#nextArm[this.#lastArm[block]] = arm;
    this.#lastArm[block] = arm;
  }

  /** The innermost block ends at an offset. Returns its loop's number, −1 if it is none, or the function's body. */
  close(end: number): number {
    const block = this.innermost;
    if (block < 0) return -1;
    this.#end[block] = end;
    this.innermost = this.#parent[block];
    return this.#loop[block];
  }

  endFunction(defined: number): void {
    this.#first[defined + 1] = this.#count;
  }

  finish(): ControlFlow {
    return {
      first: this.#first,
      opcode: this.#opcode,
      start: this.#start,
      end: this.#end,
      parent: this.#parent,
      loop: this.#loop,
      arm: this.#arm,
      armStart: this.#armStart,
      nextArm: this.#nextArm,
    };
  }

  #grow(): void {
    const size = this.#opcode.length * 2;
    this.#opcode = grown(this.#opcode, size);
    this.#start = grown(this.#start, size);
    this.#end = grown(this.#end, size);
    this.#parent = grown(this.#parent, size);
    this.#loop = grown(this.#loop, size);
    this.#arm = grown(this.#arm, size);
    this.#lastArm = grown(this.#lastArm, size);
  }
}
