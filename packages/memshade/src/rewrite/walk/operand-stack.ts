import { grown } from "../../bytes/grown.ts";
import type { ValueNumbers } from "./value-numbers.ts";

/** Operand `local` of a value that no local holds. */
export const NO_LOCAL = -1;
/** `produced` of a value that was never on top of the stack. */
export const BURIED = -1;

/** The simulated operand stack of one function, in columns. Heights grow from 0 at the function's outermost block. */
export class OperandStack {
  depth = 0;
  /** Value number of the base, 0 for a value nobody asked about yet. */
  value = new Int32Array(1024);
  /** Constant added to the base. */
  offset = new Int32Array(1024);
  /**
   * End of the instruction that produced the value: the place to keep it in a temporary. `BURIED` for a value that had
   * others on top of it from the start.
   */
  produced = new Int32Array(1024);
  /** The local that holds the whole value, if it was just read from or written to one. */
  local = new Int32Array(1024);
  /** Assignment count of that local when it held the value. */
  localTime = new Int32Array(1024);
  /** 1 if a temporary of this height holds the value. */
  kept = new Uint8Array(1024);

  push(value: number, offset: number, produced: number, local: number, localTime: number): void {
    const at = this.depth++;
    if (at === this.value.length) this.#grow();
    this.value[at] = value;
    this.offset[at] = offset;
    this.produced[at] = produced;
    this.local[at] = local;
    this.localTime[at] = localTime;
    this.kept[at] = 0;
  }

  /** A value of which nothing is known. */
  pushResult(produced: number): void {
    const at = this.depth++;
    if (at === this.value.length) this.#grow();
    this.value[at] = 0;
    this.offset[at] = 0;
    this.produced[at] = produced;
    this.local[at] = NO_LOCAL;
    this.kept[at] = 0;
  }

  pushUnknown(count: number, produced: number): void {
    for (let i = 1; i <= count; i++) this.push(0, 0, i === count ? produced : BURIED, NO_LOCAL, 0);
  }

  /** The local that still holds the value at `at`, or `NO_LOCAL`. */
  holder(at: number, values: ValueNumbers): number {
    const local = this.local[at];
    return local >= 0 && values.localTime[local] === this.localTime[at] ? local : NO_LOCAL;
  }

  #grow(): void {
    const size = this.value.length * 2;
    this.value = grown(this.value, size);
    this.offset = grown(this.offset, size);
    this.produced = grown(this.produced, size);
    this.local = grown(this.local, size);
    this.localTime = grown(this.localTime, size);
    const kept = new Uint8Array(size);
    kept.set(this.kept);
    this.kept = kept;
  }
}
