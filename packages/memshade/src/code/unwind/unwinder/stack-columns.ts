/** Bits of a frame's mark; the lowest three are the index of how it was found in `FOUND_BY`. */
export const FRAME_MARK = { foundBy: 7, signal: 8, signed: 16, caller: 32 } as const;

/**
 * A stack in columns, innermost frame first: for callers that unwind many stacks and want no objects. Can be used again
 * for the next one.
 */
export class StackColumns {
  count = 0;
  /** Program counters: for callers the return address. */
  pcs = new Float64Array(256);
  /** Canonical frame addresses; NaN where there is none. */
  cfas = new Float64Array(256);
  /** `FRAME_MARK`s. A frame marked as `caller` is to be looked up at `pc − 1`. */
  marks = new Uint8Array(256);

  clear(): void {
    this.count = 0;
  }

  push(pc: number, cfa: number, mark: number): void {
    if (this.count === this.pcs.length) this.#grow();
    this.pcs[this.count] = pc;
    this.cfas[this.count] = cfa;
    this.marks[this.count++] = mark;
  }

  #grow(): void {
    const capacity = 2 * this.count;
    const { pcs, cfas, marks } = this;
    this.pcs = new Float64Array(capacity);
    this.pcs.set(pcs);
    this.cfas = new Float64Array(capacity);
    this.cfas.set(cfas);
    this.marks = new Uint8Array(capacity);
    this.marks.set(marks);
  }
}
