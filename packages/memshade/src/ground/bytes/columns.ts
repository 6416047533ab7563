export function grown(column: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(size);
  copy.set(column);
  return copy;
}

/**
 * Returns the first index of [from, to) for which a condition does not hold; `to` if it holds for all. The
 * condition must hold for a leading run of the range (sorted values). It is evaluated log2(to - from) times.
 */
export function partitionPoint(from: number, to: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const PIECE_BITS = 16;
const PIECE = 2 ** PIECE_BITS;
const MASK = PIECE - 1;

/** A list of 32-bit numbers that grows by pieces, so nothing is copied. */
export class IntList {
  length = 0;
  readonly #pieces: Int32Array[] = [];

  push(value: number): void {
    const at = this.length++;
    if (at >>> PIECE_BITS === this.#pieces.length) this.#pieces.push(new Int32Array(PIECE));
    this.#pieces[at >>> PIECE_BITS]![at & MASK] = value;
  }

  /** The list must not be empty. */
  pop(): number {
    return this.at(--this.length);
  }

  at(index: number): number {
    return this.#pieces[index >>> PIECE_BITS]![index & MASK]!;
  }

  set(index: number, value: number): void {
    this.#pieces[index >>> PIECE_BITS]![index & MASK] = value;
  }

  toArray(): Int32Array {
    const values = new Int32Array(this.length);
    for (let from = 0; from < this.length; from += PIECE)
      values.set(this.#pieces[from >>> PIECE_BITS]!.subarray(0, this.length - from), from);
    return values;
  }
}

const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;

/**
 * Returns values sorted by unsigned keys of 32 bits; values with equal keys stay in their order. A comparing
 * sort of a million values would take a second.
 *
 * @param keyOf returns the key of the value with an index
 */
export function sortByKey(values: Int32Array, keyOf: (index: number) => number): Int32Array {
  const keys = new Uint32Array(values.length);
  for (let i = 0; i < keys.length; i++) keys[i] = keyOf(i);
  let order = Int32Array.from(keys, (_, i) => i);
  let next = new Int32Array(values.length);
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    const ends = new Uint32Array(DIGITS + 1);
    for (let i = 0; i < keys.length; i++) ends[((keys[i] >>> shift) & (DIGITS - 1)) + 1]++;
    if (ends.includes(keys.length)) continue;
    for (let digit = 1; digit <= DIGITS; digit++) ends[digit] += ends[digit - 1];
    for (let i = 0; i < order.length; i++) next[ends[(keys[order[i]] >>> shift) & (DIGITS - 1)]++] = order[i];
    [order, next] = [next, order];
  }
  for (let i = 0; i < order.length; i++) next[i] = values[order[i]];
  return next;
}
