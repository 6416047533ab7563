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

/** Calling contexts as a prefix tree: each one is a frame below another context. Parents come first. */
export interface ContextColumns {
  /** −1 where nothing called it. */
  parent: Int32Array;
  frame: Int32Array;
}

/** How frames become boxes. All arrays are by frame. */
export interface FoldRules {
  /** The frame that stands for all which are shown as one, for instance all lines of a function. */
  groupOf: Int32Array;
  /** 1: the frame is shown as a part of the frame with a 1 that calls it, if there is one. */
  isFolded?: Uint8Array | undefined;
  /** 1: whatever passes through a frame of this group is left out. */
  isRemoved?: Uint8Array | undefined;
}

/** Boxes without amounts: they stay as they are when other amounts are asked for. */
export interface FoldedContexts extends Omit<FoundBoxes, "own"> {
  /** The found box of each context; −1 where it was removed. */
  boxOf: Int32Array;
}

/**
 * Makes one box of all contexts that are shown alike: equal groups below one box, and library frames with the library frame
 * through which they were entered.
 */
export function foldContexts(
  { parent, frame }: ContextColumns,
  { groupOf, isFolded, isRemoved }: FoldRules,
): FoldedContexts {
  const finder = new BoxFinder(parent.length + 1);
  const boxOf = new Int32Array(parent.length);
  for (let context = 0; context < parent.length; context++) {
    const above = parent[context] < 0 ? 0 : boxOf[parent[context]];
    const group = groupOf[frame[context]];
    if (above < 0 || isRemoved?.[group] === 1) boxOf[context] = -1;
    else if (isFolded?.[group] === 1 && above > 0 && isFolded[finder.frameOf(above)] === 1)
      boxOf[context] = above;
    else boxOf[context] = finder.below(above, group);
  }
  return { ...finder.finish([]), boxOf };
}

/**
 * What each box holds itself, and what was removed.
 *
 * @param values what each context holds itself
 */
export function sumsOf(
  { count, boxOf }: FoldedContexts,
  values: Float64Array,
): { own: Float64Array; removed: number } {
  const own = new Float64Array(count);
  let removed = 0;
  for (let context = 0; context < boxOf.length; context++)
    if (boxOf[context] < 0) removed += values[context];
    else own[boxOf[context]] += values[context];
  return { own, removed };
}
