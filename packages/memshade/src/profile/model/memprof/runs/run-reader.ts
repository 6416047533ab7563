import { STACK } from "./run-writer.ts";

/** Bytes that were written before. */
export interface RunSource {
  readonly size: number;
  /** Fills an array with the bytes from an offset on. */
  read(at: number, into: Uint8Array): void;
}

const WINDOW_BYTES = 1 << 16;
/** So many bytes are there before a stack is read without looking again; lists look for each number. */
const STACK_BYTES = 1 << 9;
const NUMBER_BYTES = 10;
const NONE: readonly bigint[] = [];

/** Reads a run stack by stack. It begins at the empty stack. */
export class RunReader {
  depth = 0;
  frame = 0;
  hasContext = false;
  isCallSite = false;
  /** Of the context: two words per field, and the number of the input that comes last. */
  readonly words: Uint32Array;
  lastInput = 0;
  histogram: BigUint64Array | undefined;
  otherFunctions: readonly bigint[] = NONE;
  readonly #source: RunSource;
  readonly #window: Uint8Array;
  #windowEnd = 0;
  #position = 0;
  /** Bytes of the source that were taken into the window. */
  #taken = 0;
  #low = 0;
  #high = 0;

  constructor(source: RunSource, fieldCount: number) {
    this.#source = source;
    this.#window = new Uint8Array(Math.min(WINDOW_BYTES, source.size));
    this.words = new Uint32Array(2 * fieldCount);
    this.next();
  }

  /** Goes on to the next stack. @returns false at the end */
  next(): boolean {
    this.#need(STACK_BYTES);
    if (this.#position === this.#windowEnd) return false;
    this.#number();
    this.depth += 1 - this.#low;
    this.#number();
    const flags = this.#low & (2 ** STACK.flagBits - 1);
    this.frame = this.#low >>> STACK.flagBits;
    this.isCallSite = (flags & STACK.callSite) !== 0;
    this.hasContext = (flags & STACK.context) !== 0;
    if (this.hasContext) this.#readContext();
    return true;
  }

  #readContext(): void {
    const { words } = this;
    this.#number();
    this.lastInput = this.#low + this.#high * 2 ** 32 - 1;
    for (let at = 0; at < words.length; at += 2) {
      this.#number();
      words[at] = this.#low;
      words[at + 1] = this.#high;
    }
    this.#number();
    const values = this.#low;
    this.#number();
    const others = this.#low;
    this.histogram = values === 0 ? undefined : BigUint64Array.from({ length: values }, () => this.#wide());
    this.otherFunctions = others === 0 ? NONE : Array.from({ length: others }, () => this.#wide());
  }

  #wide(): bigint {
    this.#need(NUMBER_BYTES);
    this.#number();
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  /** Reads a number into `low` and `high`. */
  #number(): void {
    const window = this.#window;
    let byte = window[this.#position++]!;
    this.#high = 0;
    if (byte < 0x80) {
      this.#low = byte;
      return;
    }
    let low = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = window[this.#position++]!;
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#low = low;
        return;
      }
    }
    byte = window[this.#position++]!;
    this.#low = (low | (byte << 28)) >>> 0;
    let high = (byte & 0x7f) >>> 4;
    for (let shift = 3; byte >= 0x80; shift += 7) {
      byte = window[this.#position++]!;
      high |= (byte & 0x7f) << shift;
    }
    this.#high = high >>> 0;
  }

  /** Brings so many bytes into the window, as far as there are any. */
  #need(count: number): void {
    const window = this.#window;
    if (this.#windowEnd - this.#position >= count || this.#taken === this.#source.size) return;
    window.copyWithin(0, this.#position, this.#windowEnd);
    const kept = this.#windowEnd - this.#position;
    const more = Math.min(window.length - kept, this.#source.size - this.#taken);
    this.#source.read(this.#taken, window.subarray(kept, kept + more));
    this.#taken += more;
    this.#position = 0;
    this.#windowEnd = kept + more;
  }
}
