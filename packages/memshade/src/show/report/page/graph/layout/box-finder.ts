import type { FoundBoxes } from "./tree.ts";

const NONE = -1;

/** Collects boxes: asked for a frame below a box, it gives the box that is there or makes one. */
export class BoxFinder {
  count = 1;
  #parent: Int32Array<ArrayBuffer>;
  #frame: Int32Array<ArrayBuffer>;
  /** Open addressing: boxes by parent and frame. */
  #table: Int32Array<ArrayBuffer>;

  /** @param expected how many boxes there will be about */
  constructor(expected = 1024) {
    this.#parent = new Int32Array(Math.max(1, expected)).fill(NONE);
    this.#frame = this.#parent.slice();
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.#parent.length + 1))).fill(NONE);
  }

  /** The box of a frame below another one. */
  below(parent: number, frame: number): number {
    const mask = this.#table.length - 1;
    let slot = hash(parent, frame) & mask;
    for (let box = this.#table[slot]; box !== NONE; box = this.#table[slot]) {
      if (this.#parent[box] === parent && this.#frame[box] === frame) return box;
      slot = (slot + 1) & mask;
    }
    const box = this.add(parent, frame);
    this.#table[slot] = box;
    if (this.count * 2 > this.#table.length) this.#grow();
    return box;
  }

  /** A box that nobody looks for a second time. */
  add(parent: number, frame: number): number {
    if (this.count === this.#parent.length) {
      this.#parent = twice(this.#parent);
      this.#frame = twice(this.#frame);
    }
    this.#parent[this.count] = parent;
    this.#frame[this.count] = frame;
    return this.count++;
  }

  frameOf(box: number): number {
    return this.#frame[box];
  }

  /** @param own a column of at least `count` values per measure */
  finish(own: readonly Float64Array[]): FoundBoxes {
    return { count: this.count, parent: this.#parent, frame: this.#frame, own };
  }

  #grow(): void {
    const table = new Int32Array(this.#table.length * 2).fill(NONE);
    const mask = table.length - 1;
    for (const box of this.#table) {
      if (box === NONE) continue;
      let slot = hash(this.#parent[box], this.#frame[box]) & mask;
      while (table[slot] !== NONE) slot = (slot + 1) & mask;
      table[slot] = box;
    }
    this.#table = table;
  }
}

/** Multiplication by odd constants near the golden ratio spreads neighbours over the table. */
function hash(parent: number, frame: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function twice(values: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(values.length * 2).fill(NONE);
  larger.set(values);
  return larger;
}
