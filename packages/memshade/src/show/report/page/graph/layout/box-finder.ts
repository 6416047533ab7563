import type { FoundBoxes } from "./tree.ts";

const NONE = -1;

/** Collects boxes. Each pair of parent and frame gets one box. */
export class BoxFinder {
  count = 1;
  #parent: Int32Array<ArrayBuffer>;
  #frame: Int32Array<ArrayBuffer>;
  /** Hash table with open addressing: boxes by parent and frame. */
  #table: Int32Array<ArrayBuffer>;

  /** @param expected approximate number of boxes */
  constructor(expected = 1024) {
    this.#parent = new Int32Array(Math.max(1, expected)).fill(NONE);
    this.#frame = this.#parent.slice();
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.#parent.length + 1))).fill(NONE);
  }

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

  /** Adds a box without entering it into the table, so that `below` does not find it. */
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

  /** @param own a column per measure with at least `count` values */
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

/** Multiplication by odd constants near the golden ratio distributes neighbours over the table. */
function hash(parent: number, frame: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function twice(values: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(values.length * 2).fill(NONE);
  larger.set(values);
  return larger;
}

/**
 * Calling contexts as a prefix tree: each context is a frame below its parent context. Parents come first.
 */
export interface ContextColumns {
  /** −1 for roots. */
  parent: Int32Array;
  frame: Int32Array;
}

/** Rules that combine frames to boxes. All arrays are indexed by frame. */
export interface FoldRules {
  /** Frame that represents the group, such as all lines of a function. */
  groupOf: Int32Array;
  /** 1: the frame is shown as part of its caller, if the caller has a 1 too. */
  isFolded?: Uint8Array | undefined;
  /** 1: contexts that pass through a frame of this group are left out. */
  isRemoved?: Uint8Array | undefined;
}

/** Boxes without amounts: they stay the same when the amounts change. */
export interface FoldedContexts extends Omit<FoundBoxes, "own"> {
  /** Box of each context; −1 if it was removed. */
  boxOf: Int32Array;
}

/**
 * Combines contexts that are shown as one box: equal groups below one box, and library frames with the
 * library frame that was entered.
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
 * Returns each box's own amount, and the removed amount.
 *
 * @param values own amount of each context
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
