/** What a reference has no time and no distance for: the first one to its line. */
export const COLD = -1;

const SMALLEST_CAPACITY = 1024;

/**
 * LRU stack distances of a stream of references, O(log m) each for m distinct lines: a Fenwick tree over positions has
 * a mark at the last reference to every line; the distance is the number of marks behind the line's own. When the
 * positions run out, the marks are moved together.
 */
export class ReuseDistances {
  readonly #lastOf = new Map<number, number>();
  #lineAt: Float64Array = new Float64Array(SMALLEST_CAPACITY + 1);
  #marks: Int32Array = new Int32Array(SMALLEST_CAPACITY + 1);
  #marked: Uint8Array = new Uint8Array(SMALLEST_CAPACITY + 1);
  /** Position of the newest reference; positions start at 1. */
  #position = 0;

  /** Distinct lines referenced. */
  get lines(): number {
    return this.#lastOf.size;
  }

  /** Number of distinct other lines referenced since the last reference to `line`, `COLD` if there was none. */
  reference(line: number): number {
    if (this.#position + 1 === this.#lineAt.length) this.#renumber();
    const last = this.#lastOf.get(line);
    const position = ++this.#position;
    let distance: number = COLD;
    if (last !== undefined) {
      distance = this.#lastOf.size - this.#marksUpTo(last);
      this.#mark(last, -1);
    }
    this.#lastOf.set(line, position);
    this.#lineAt[position] = line;
    this.#mark(position, 1);
    return distance;
  }

  /** Forgets a line as if it had never been referenced. */
  remove(line: number): void {
    const last = this.#lastOf.get(line);
    if (last === undefined) return;
    this.#mark(last, -1);
    this.#lastOf.delete(line);
  }

  #marksUpTo(position: number): number {
    let sum = 0;
    for (let at = position; at > 0; at &= at - 1) sum += this.#marks[at];
    return sum;
  }

  #mark(position: number, change: number): void {
    this.#marked[position] = change > 0 ? 1 : 0;
    for (let at = position; at < this.#marks.length; at += at & -at) this.#marks[at] += change;
  }

  #renumber(): void {
    const lines: number[] = [];
    for (let at = 1; at <= this.#position; at++) if (this.#marked[at] === 1) lines.push(this.#lineAt[at]);
    const length = Math.max(SMALLEST_CAPACITY, lines.length * 2) + 1;
    this.#lineAt = new Float64Array(length);
    this.#marks = new Int32Array(length);
    this.#marked = new Uint8Array(length);
    this.#position = lines.length;
    lines.forEach((line, i) => {
      this.#lastOf.set(line, i + 1);
      this.#lineAt[i + 1] = line;
      this.#mark(i + 1, 1);
    });
  }
}
