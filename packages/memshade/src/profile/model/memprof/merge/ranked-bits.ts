import { Column } from "../column.ts";

/** Growing bit set of small integers that also numbers its members in ascending order. */
export class RankedBits {
  /** Two words per 32 integers: their bits, and the number of members before them. */
  readonly #words = new Column();
  #length = 0;
  #memberCount = 0;

  /** Number of members; after `set` it is valid only once `rankAll` was called. */
  get count(): number {
    return this.#memberCount;
  }

  has(index: number): boolean {
    return (this.#words.get((index >>> 5) * 2) & (1 << (index & 31))) !== 0;
  }

  /** Appends the next integer as a member or not; members are numbered immediately. */
  push(isMember: boolean): void {
    const index = this.#length++;
    if ((index & 31) === 0) this.#words.set((index >>> 5) * 2 + 1, this.#memberCount);
    if (!isMember) return;
    this.#put(index);
    this.#memberCount++;
  }

  /** Adds a member. `rankAll` must number the members after the last one was added. */
  set(index: number): void {
    if (index >= this.#length) this.#length = index + 1;
    this.#put(index);
  }

  rankAll(): void {
    this.#memberCount = 0;
    for (let word = 0; word * 32 < this.#length; word++) {
      this.#words.set(2 * word + 1, this.#memberCount);
      this.#memberCount += bitsOf(this.#words.get(2 * word));
    }
  }

  /** Returns the number of members below an integer, which is the rank of a member, from 0. */
  rankOf(index: number): number {
    const word = (index >>> 5) * 2;
    return this.#words.get(word + 1) + bitsOf(this.#words.get(word) & ((1 << (index & 31)) - 1));
  }

  ranksOf(numbers: Uint32Array): void {
    for (let at = 0; at < numbers.length; at++) numbers[at] = this.rankOf(numbers[at]!);
  }

  forEach(see: (index: number) => void): void {
    for (let word = 0; word * 32 < this.#length; word++)
      for (let bits = this.#words.get(2 * word); bits !== 0; bits &= bits - 1)
        see(word * 32 + (31 - Math.clz32(bits & -bits)));
  }

  release(): void {
    this.#words.release();
    this.#length = 0;
    this.#memberCount = 0;
  }

  #put(index: number): void {
    const word = (index >>> 5) * 2;
    this.#words.set(word, (this.#words.get(word) | (1 << (index & 31))) >>> 0);
  }
}

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
