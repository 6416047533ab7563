import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { Code, CodeFunction } from "../code.ts";
import type { NewStretch } from "./frame-rows.ts";

/** Cold parts of insertions, which follow each other as the instructions do that they were inserted for. */
export class ColdParts {
  /** Instruction and place of each, and the end of the last one. */
  readonly #pairs: Int32Array;
  /** Where they begin. */
  readonly start: number;

  /** @param pairs 4 bytes each @param start where the places are counted from @param bytes of all parts */
  constructor(pairs: ByteWriter, start: number, bytes: number) {
    this.start = start;
    const all = new ByteWriter(pairs.length + 8).bytes(pairs.view()).u32(-1).u32(bytes);
    this.#pairs = new Int32Array(all.view().slice().buffer);
    for (let i = 1; i < this.#pairs.length; i += 2) this.#pairs[i] += start;
  }

  instruction(part: number): number {
    return this.#pairs[2 * part];
  }

  place(part: number): number {
    return this.#pairs[2 * part + 1];
  }

  /** By the numbers of functions that have any. */
  ofFunctions(code: Code): Map<number, ColdStretch> {
    const found = new Map<number, ColdStretch>();
    const count = this.#pairs.length / 2 - 1;
    let part = 0;
    for (const [f, one] of code.functions.entries()) {
      const first = part;
      while (part < count && this.instruction(part) < one.last) part++;
      if (part > first) found.set(f, new ColdStretch(this, code, one, first, part));
    }
    return found;
  }
}

/** Cold parts of one function. */
export class ColdStretch implements NewStretch {
  readonly parts: ColdParts;
  /** `[first, last)` */
  readonly first: number;
  readonly last: number;
  readonly #code: Code;
  readonly #function: CodeFunction;

  constructor(parts: ColdParts, code: Code, of: CodeFunction, first: number, last: number) {
    this.parts = parts;
    this.first = first;
    this.last = last;
    this.#code = code;
    this.#function = of;
  }

  get start(): number {
    return this.parts.place(this.first);
  }

  get end(): number {
    return this.parts.place(this.last);
  }

  of(distance: number): number {
    const offset = this.#function.start + distance;
    let low = this.first;
    let high = this.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#code.offsets[this.parts.instruction(middle)] < offset) low = middle + 1;
      else high = middle;
    }
    return this.parts.place(low);
  }
}
