import type { CodePlace } from "../../unwind/index.ts";
import { MappedModule } from "../stacks/native-file.ts";
import type { SampleStack } from "../stacks/perf-stacks.ts";

const BATCH_BYTES = 2 ** 18;
/** A tab, 16 digits and the end of the line. */
const LINE_BYTES = 18;
const [TAB, NEWLINE, SPACE] = [9, 10, 32];
const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/**
 * The addresses of samples, as `perf script -F ip --no-inline` prints them; nothing is named. There are millions of them:
 * they are written as bytes, without strings on the way.
 */
export class PerfAddressText {
  readonly #write: (bytes: Uint8Array) => void;
  #batch = new Uint8Array(BATCH_BYTES);
  #length = 0;

  /** @param write takes pieces of text, which are never changed again */
  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  add({ kernel, frames }: SampleStack): void {
    this.#reserve(2 + LINE_BYTES * (kernel.length + frames.length));
    this.#batch[this.#length++] = NEWLINE;
    for (const address of kernel) this.#addText(address);
    for (let frame = 0; frame < frames.length; frame++) this.#addAddress(shownAddress(frames[frame]!));
    this.#batch[this.#length++] = NEWLINE;
  }

  /** Writes what is left. */
  finish(): void {
    if (this.#length > 0) this.#write(this.#batch.subarray(0, this.#length));
    this.#length = 0;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#batch.length) return;
    this.finish();
    this.#batch = new Uint8Array(Math.max(BATCH_BYTES, bytes));
  }

  #addText(address: string): void {
    this.#batch[this.#length] = TAB;
    this.#batch.fill(SPACE, this.#length + 1, this.#length + 17 - address.length);
    for (let at = 0; at < address.length; at++) {
      this.#batch[this.#length + 17 - address.length + at] = address.charCodeAt(at);
    }
    this.#batch[this.#length + 17] = NEWLINE;
    this.#length += LINE_BYTES;
  }

  #addAddress(address: number): void {
    if (address < 0) {
      this.#addText(address.toString(16));
      return;
    }
    const batch = this.#batch;
    const start = this.#length;
    let low = address >>> 0;
    let high = Math.floor(address / 2 ** 32);
    batch[start] = TAB;
    batch[start + 17] = NEWLINE;
    for (let at = start + 16; at > start; at--) {
      batch[at] = low !== 0 || high !== 0 || at === start + 16 ? DIGITS[low & 15]! : SPACE;
      low >>>= 4;
      if (at === start + 9) {
        low = high;
        high = 0;
      }
    }
    this.#length += LINE_BYTES;
  }
}

/** What perf calls the address in a file is the offset in it. Code that a program wrote itself is in no file. */
export function shownAddress({ address, module }: CodePlace): number {
  const isInFile = module instanceof MappedModule && !module.file.isAnonymous;
  return isInFile ? address - module.start + module.fileOffset : address;
}
