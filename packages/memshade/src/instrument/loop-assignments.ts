import { readU32Leb, skipLeb32 } from "../bytes/leb128.ts";
import { IMMEDIATE_KIND, opcodeId, opcodeIdAt, skipImmediates } from "../wasm/index.ts";
import { grown } from "./operand-stack.ts";
import type { ValueNumbers } from "./value-numbers.ts";

const BLOCK = opcodeId("block");
const LOOP = opcodeId("loop");
const IF = opcodeId("if");
const TRY = opcodeId("try");
const TRY_TABLE = opcodeId("try_table");
const END = opcodeId("end");
const DELEGATE = opcodeId("delegate");
const LOCAL_SET = opcodeId("local.set");
const LOCAL_TEE = opcodeId("local.tee");

/** Locals assigned inside each loop of a function, found ahead of the walk: at the header they may have any value. */
export class LoopAssignments {
  readonly #bytes: Uint8Array;
  /** Assigned locals in program order. */
  #locals: Int32Array = new Int32Array(4096);
  #count = 0;
  /** Per loop, in order of the loop instructions: its range of `#locals`. */
  #first: Int32Array = new Int32Array(256);
  #end: Int32Array = new Int32Array(256);
  #loops = 0;
  /** Enclosing blocks: the loop's number, −1 for other blocks. */
  #open: Int32Array = new Int32Array(256);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  scan(codeStart: number, end: number): void {
    const bytes = this.#bytes;
    this.#count = 0;
    this.#loops = 0;
    let depth = 0;
    let pos = codeStart;
    while (pos < end) {
      let op = bytes[pos++];
      if (op >= 0xfb && op <= 0xfe) {
        op = opcodeIdAt(bytes, pos - 1);
        pos = skipLeb32(bytes, pos);
      }
      if (op === LOCAL_SET || op === LOCAL_TEE) {
        if (this.#count === this.#locals.length) this.#locals = grown(this.#locals, this.#count * 2);
        this.#locals[this.#count++] = readU32Leb(bytes, pos);
      } else if (op === BLOCK || op === LOOP || op === IF || op === TRY || op === TRY_TABLE) {
        if (depth === this.#open.length) this.#open = grown(this.#open, depth * 2);
        this.#open[depth++] = op === LOOP ? this.#openLoop() : -1;
      } else if ((op === END || op === DELEGATE) && depth > 0) {
        const loop = this.#open[--depth];
        if (loop >= 0) this.#end[loop] = this.#count;
      }
      pos = skipImmediates(bytes, pos, IMMEDIATE_KIND[op]);
    }
  }

  /** Takes the numbers of everything the loop assigns away. */
  forget(loop: number, values: ValueNumbers): void {
    for (let i = this.#first[loop]; i < this.#end[loop]; i++) values.localValue[this.#locals[i]] = 0;
  }

  #openLoop(): number {
    const loop = this.#loops++;
    if (loop === this.#first.length) {
      this.#first = grown(this.#first, loop * 2);
      this.#end = grown(this.#end, loop * 2);
    }
    this.#first[loop] = this.#count;
    return loop;
  }
}
