import { type CallTree, restFrom } from "./tree.ts";

/**
 * Visible boxes of a tree: a row per depth, each from left to right. The boxes of row `r` are `[rowStart[r],
 * rowStart[r + 1])`. Lengths are CSS pixels.
 */
export interface DrawnBoxes {
  count: number;
  rows: number;
  rowStart: Int32Array;
  /** Box of the tree; for a combined box, the largest of its boxes. */
  box: Int32Array;
  /** Number of siblings too narrow to draw that are combined into this box; 0 for a box of the tree. */
  rest: Int32Array;
  x: Float32Array;
  width: Float32Array;
  /** The drawn box above; −1 for the first. */
  parent: Int32Array;
  childStart: Int32Array;
  childEnd: Int32Array;
  /** Amount in the unit of the tree's first measure. */
  value: Float64Array;
}

/** Narrower boxes are indistinguishable from their neighbours. CSS pixels. */
export const NARROWEST = 0.5;

/** The drawn part of a tree. */
export interface Zoom {
  /** The box that is as wide as the picture. */
  zoomed: number;
  /** A child of the zoomed box: it and its smaller siblings together are as wide as the picture. */
  from?: number | undefined;
  /** Depth of the first row. */
  top?: number | undefined;
}

/**
 * Returns the boxes that are wide enough to draw. The zoomed box and its callers are as wide as the picture;
 * their siblings are left out. Siblings too narrow to draw are combined into one box at the end.
 *
 * @param width width of the picture, CSS pixels
 */
export function drawnBoxes(tree: CallTree, { zoomed, from, top = 0 }: Zoom, width: number): DrawnBoxes {
  const drawn = new Growing(Math.min(tree.count, FIRST_CAPACITY));
  const above: number[] = [];
  for (let box = tree.parent[zoomed]; box >= 0 && tree.depth[box] >= top; box = tree.parent[box])
    above.unshift(box);
  const value = tree.total[0];
  for (const [index, box] of above.entries()) drawn.add(box, 0, index - 1, 0, width, value[box]);
  drawn.add(zoomed, 0, above.length - 1, 0, width, value[zoomed]);
  const whole = from === undefined ? value[zoomed] : restFrom(tree, from).value;
  const perUnit = whole > 0 ? width / whole : 0;
  const origin = tree.start[from ?? zoomed];
  for (let index = 0; index < drawn.count; index++) {
    if (index < above.length) {
      drawn.setChildren(index, index + 1, index + 2);
      continue;
    }
    const first = drawn.count;
    // Everything below a combined box is too narrow to draw.
    const box = drawn.rest[index] > 0 ? undefined : drawn.box[index];
    if (box !== undefined) {
      const end = tree.childEnd[box];
      let child = box === zoomed && from !== undefined ? from : tree.childStart[box];
      for (; child < end && value[child] * perUnit >= NARROWEST; child++)
        drawn.add(
          child,
          0,
          index,
          (tree.start[child] - origin) * perUnit,
          value[child] * perUnit,
          value[child],
        );
      const rest = child < end ? restFrom(tree, child) : undefined;
      if (rest !== undefined && rest.value * perUnit >= NARROWEST)
        drawn.add(
          child,
          rest.count,
          index,
          (tree.start[child] - origin) * perUnit,
          rest.value * perUnit,
          rest.value,
        );
    }
    drawn.setChildren(index, first, drawn.count);
  }
  return drawn.finish();
}

/** Returns the drawn box at a point, −1 for none. */
export function boxAtPoint({ rowStart, rows, x, width }: DrawnBoxes, row: number, at: number): number {
  if (row < 0 || row >= rows) return -1;
  let low = rowStart[row];
  let high = rowStart[row + 1];
  // Finds the first box that begins after the point.
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= at) low = middle + 1;
    else high = middle;
  }
  const index = low - 1;
  return index >= rowStart[row] && at < x[index] + width[index] ? index : -1;
}

export function rowOf({ rowStart }: DrawnBoxes, index: number): number {
  let low = 0;
  let high = rowStart.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rowStart[middle] <= index) low = middle;
    else high = middle;
  }
  return low;
}

const INDEX_COLUMNS = ["box", "rest", "parent", "childStart", "childEnd"] as const;

/** Initial capacity of the columns; more boxes are seldom wide enough. */
const FIRST_CAPACITY = 1 << 16;

/** Columns that grow as boxes are added row by row. */
class Growing {
  count = 0;
  box: Int32Array;
  rest: Int32Array;
  parent: Int32Array;
  childStart: Int32Array;
  childEnd: Int32Array;
  #x: Float32Array;
  #width: Float32Array;
  #value: Float64Array;

  constructor(capacity: number) {
    [this.box, this.rest, this.parent, this.childStart, this.childEnd] = Array.from(
      INDEX_COLUMNS,
      () => new Int32Array(capacity),
    );
    this.#x = new Float32Array(capacity);
    this.#width = new Float32Array(capacity);
    this.#value = new Float64Array(capacity);
  }

  add(box: number, rest: number, parent: number, x: number, width: number, value: number): void {
    if (this.count === this.box.length) this.#grow();
    this.box[this.count] = box;
    this.rest[this.count] = rest;
    this.parent[this.count] = parent;
    this.#x[this.count] = x;
    this.#width[this.count] = width;
    this.#value[this.count] = value;
    this.count += 1;
  }

  setChildren(index: number, start: number, end: number): void {
    this.childStart[index] = start;
    this.childEnd[index] = end;
  }

  finish(): DrawnBoxes {
    const { count, box, rest } = this;
    const parent = this.parent;
    const childStart = this.childStart;
    const childEnd = this.childEnd;
    const x = this.#x;
    const width = this.#width;
    const value = this.#value;
    const rowStart = [0];
    // A row begins at the first box whose parent is in the row above.
    for (let index = 1; index < count; index++)
      if (parent[index] >= rowStart[rowStart.length - 1]) rowStart.push(index);
    rowStart.push(count);
    const rows = rowStart.length - 1;
    return {
      count,
      rows,
      rowStart: Int32Array.from(rowStart),
      box,
      rest,
      parent,
      childStart,
      childEnd,
      x,
      width,
      value,
    };
  }

  #grow(): void {
    for (const name of INDEX_COLUMNS) {
      const larger = new Int32Array(this.count * 2);
      larger.set(this[name]);
      this[name] = larger;
    }
    const [x, width] = [new Float32Array(this.count * 2), new Float32Array(this.count * 2)];
    x.set(this.#x);
    width.set(this.#width);
    const value = new Float64Array(this.count * 2);
    value.set(this.#value);
    Object.assign(this, { x, width, value });
  }
}
