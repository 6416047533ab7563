import * as Op from "../../../code/wasm/op.generated.ts";
import { grown } from "../../../ground/bytes/grown.ts";

/** The enclosing blocks of the place the walk has reached, in columns. Entry 0 is the function body. */
export class ControlStack {
  /** Index of the innermost block. */
  top = -1;
  /** Opcode that opened the block or its current arm. */
  opcode: Int32Array = new Int32Array(256);
  /** The block's number among all of the module, see `ControlFlow`; −1 for the function body. */
  block: Int32Array = new Int32Array(256);
  /** Operand height below the block's parameters. */
  height: Int32Array = new Int32Array(256);
  params: Int32Array = new Int32Array(256);
  results: Int32Array = new Int32Array(256);
  /** Offset of the instruction that opened the block. */
  start: Int32Array = new Int32Array(256);
  /** Count of assignments when the block was entered. */
  startTime: Int32Array = new Int32Array(256);
  /** Smallest index of a block that a branch inside leads to, this one's own if none leaves it; −1: calls and returns too. */
  outermost: Int32Array = new Int32Array(256);
  /** 1 if a branch leads to the block's label. */
  targeted: Int32Array = new Int32Array(256);
  /** 1 for a loop that may be one basic block; 0 once it is not. */
  oneBlock: Int32Array = new Int32Array(256);
  /** For loops: offset of the opcode and of the first instruction inside. */
  loopStart: Int32Array = new Int32Array(256);
  loopBody: Int32Array = new Int32Array(256);
  /** For loops: the last value number that was in use before the header. */
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

  /** A branch to the block `label` levels out. */
  branch(label: number): void {
    const target = this.top - label;
    if (target < 0) return;
    this.targeted[target] = 1;
    if (target < this.outermost[this.top]) this.outermost[this.top] = target;
  }

  /** An instruction may leave the function, or end the program. */
  mayLeave(): void {
    this.outermost[this.top] = -1;
  }

  /** The innermost block ends. Whether what follows runs exactly as often as what came before, unless something traps. */
  isPassed(): boolean {
    const { outermost, top } = this;
    if (top > 0 && outermost[top] < outermost[top - 1]) outermost[top - 1] = outermost[top];
    return outermost[top] === top;
  }

  /** Whether a branch to the block at index `at` goes back to its start. */
  isLoop(at: number): boolean {
    return this.opcode[at] === Op.LOOP;
  }

  /** The innermost block has control flow or a call inside it. */
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
