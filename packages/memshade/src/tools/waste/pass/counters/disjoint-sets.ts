/** Sets of numbers from 0 that are joined and never parted (union-find). */
export class DisjointSets {
  readonly #parent: number[] = [];

  /** `length` sets of one number each. */
  constructor(length: number) {
    for (let i = 0; i < length; i++) this.add();
  }

  get length(): number {
    return this.#parent.length;
  }

  /** A number more, alone in its set. */
  add(): number {
    return this.#parent.push(this.#parent.length) - 1;
  }

  /** The least number of the set. */
  find(of: number): number {
    const parent = this.#parent;
    let at = of;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]];
      at = parent[at];
    }
    return at;
  }

  /** Whether they were in different sets. */
  join(a: number, b: number): boolean {
    const [one, other] = [this.find(a), this.find(b)];
    if (one === other) return false;
    this.#parent[Math.max(one, other)] = Math.min(one, other);
    return true;
  }
}
