const FIRST_LENGTH = 1024;

/** Numbers of 32 bits that become more. */
export class IntList {
  length = 0;
  #values = new Int32Array(FIRST_LENGTH);

  push(value: number): void {
    if (this.length === this.#values.length) {
      const more = new Int32Array(2 * this.length);
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.length++] = value;
  }

  /** The values, and room behind them. */
  get values(): Int32Array {
    return this.#values;
  }
}
