import { grown } from "../../../ground/bytes/columns.ts";

/** Enclosing blocks of the current position, as columns. Entry 0 is the function body. */
export class ControlStack {
  top = -1;
  /** Opcode that opened the block or its current arm. */
  opcode: Int32Array = new Int32Array(256);
  /** Number of the block in the module, see `ControlFlow`; −1 for the function body. */
  block: Int32Array = new Int32Array(256);
  /** Operand height below the block's parameters. */
  height: Int32Array = new Int32Array(256);
  params: Int32Array = new Int32Array(256);
  results: Int32Array = new Int32Array(256);
  start: Int32Array = new Int32Array(256);
  /** Number of assignments before the block. */
  startTime: Int32Array = new Int32Array(256);
  /**
   * Smallest index of a block to which a branch inside leads; the block's own index if none leaves it. −1 if a call or
   * return may leave the function.
   */
  outermost: Int32Array = new Int32Array(256);
  targeted: Int32Array = new Int32Array(256);
  /** 1 for a loop that may be a single basic block. */
  oneBlock: Int32Array = new Int32Array(256);
  /** Loops: offsets of the opcode and of the first instruction inside. */
  loopStart: Int32Array = new Int32Array(256);
  loopBody: Int32Array = new Int32Array(256);
  /** Loops: last value number in use before the header. */
  loopValues: Int32Array = new Int32Array(256);

  enter(
    opcode: number,
    start: number,
    height: number,
    params: number,
    results: number,
    startTime: number,
  ): void {
    const at = ++this.top;
    if (at === this.opcode.length) this.#grow();
    this.opcode[at] = opcode;
    this.start[at] = start;
    this.height[at] = height;
    this.params[at] = params;
    this.results[at] = results;
    this.startTime[at] = startTime;
    this.block[at] = -1;
    this.targeted[at] = 0;
    this.outermost[at] = at;
    this.oneBlock[at] = 0;
  }

  branch(label: number): void {
    const target = this.top - label;
    if (target < 0) return;
    this.targeted[target] = 1;
    if (target < this.outermost[this.top]) this.outermost[this.top] = target;
  }

  /** Records an instruction that may leave the function, or end the program. */
  mayLeave(): void {
    this.outermost[this.top] = -1;
  }

  /**
   * Call it when the innermost block ends. Returns true if the following code runs exactly as often as the code before
   * the block, unless an instruction traps.
   */
  isPassed(): boolean {
    const { outermost, top } = this;
    if (top > 0 && outermost[top] < outermost[top - 1]) outermost[top - 1] = outermost[top];
    return outermost[top] === top;
  }

  notOneBlock(): void {
    this.oneBlock[this.top] = 0;
  }

  #grow(): void {
    const size = this.opcode.length * 2;
    for (const column of COLUMNS) this[column] = grown(this[column], size);
  }
}

const COLUMNS = [
  "opcode",
  "block",
  "height",
  "params",
  "results",
  "start",
  "startTime",
  "targeted",
  "outermost",
  "oneBlock",
  "loopStart",
  "loopBody",
  "loopValues",
] as const;
