/**
 * Boxes of a graph below one root, in typed arrays of `count` entries. Box 0 is the root and represents
 * everything. Parents precede their children. The children of a box are adjacent, largest first.
 */
export interface CallTree {
  count: number;
  /** Parent box; −1 for the root. */
  parent: Int32Array;
  /** Frame that names the box; −1 for the root. */
  frame: Int32Array;
  /** First child of each box; `childEnd` is the index after its last child. */
  childStart: Int32Array;
  childEnd: Int32Array;
  /** Steps from the root, whose depth is 0. */
  depth: Uint16Array;
  /** Own amounts: a column per measure, in the measure's unit. The first measure determines the widths. */
  own: readonly Float64Array[];
  /** Amounts of each box and everything below it. */
  total: readonly Float64Array[];
  /**
   * Left edge of each box in the unit of the first measure. Children lie side by side from their parent's
   * left edge.
   */
  start: Float64Array;
}

/** A tree in which boxes are in the order of their discovery: parents before children. */
export interface FoundBoxes {
  count: number;
  parent: Int32Array;
  frame: Int32Array;
  own: readonly Float64Array[];
}

/** Largest depth: deeper boxes get this one. */
const DEEPEST = 65_535;

/**
 * Sums up amounts from the leaves, sorts siblings by size (ties keep their order) and lays them side by side.
 */
export function arrange(found: FoundBoxes): { tree: CallTree; placeOf: Int32Array } {
  const { count } = found;
  const foundTotal = found.own.map((own) => sumUp(found.parent, own.slice(0, count)));
  const children = groupByParent(found.parent, count);
  const tree: CallTree = {
    count,
    parent: new Int32Array(count).fill(-1),
    frame: new Int32Array(count).fill(-1),
    childStart: new Int32Array(count),
    childEnd: new Int32Array(count),
    depth: new Uint16Array(count),
    own: [],
    total: [],
    start: new Float64Array(count),
  };
  const placeOf = new Int32Array(count);
  // Found boxes in the order of the tree.
  const order = new Int32Array(count);
  let placed = count > 0 ? 1 : 0;
  for (let box = 0; box < placed; box++) {
    const source = order[box];
    placeOf[source] = box;
    tree.frame[box] = found.frame[source];
    const end = children.start[source + 1];
    sortBySize(children.order, children.start[source], end, foundTotal[0]);
    tree.childStart[box] = placed;
    let start = tree.start[box];
    for (let row = children.start[source]; row < end; row++) {
      const child = children.order[row];
      order[placed] = child;
      tree.parent[placed] = box;
      tree.depth[placed] = Math.min(tree.depth[box] + 1, DEEPEST);
      tree.start[placed] = start;
      start += foundTotal[0][child];
      placed += 1;
    }
    tree.childEnd[box] = placed;
  }
  const own = found.own.map((values) => inOrder(values, order));
  const total = foundTotal.map((values) => inOrder(values, order));
  return { tree: { ...tree, own, total }, placeOf };
}

function inOrder(values: Float64Array, order: Int32Array): Float64Array {
  const ordered = new Float64Array(order.length);
  for (let row = 0; row < order.length; row++) ordered[row] = values[order[row]];
  return ordered;
}

/** Adds every value to those of all boxes above, in place. */
function sumUp(parent: Int32Array, values: Float64Array): Float64Array {
  for (let box = values.length - 1; box > 0; box--) values[parent[box]] += values[box];
  return values;
}

/**
 * Returns the children of all boxes in one array, with the start of each box's part (`count` + 1 entries).
 */
function groupByParent(parent: Int32Array, count: number): { start: Int32Array; order: Int32Array } {
  const start = new Int32Array(count + 1);
  for (let box = 1; box < count; box++) start[parent[box] + 1] += 1;
  for (let box = 0; box < count; box++) start[box + 1] += start[box];
  const next = start.slice(0, count);
  const order = new Int32Array(Math.max(0, count - 1));
  for (let box = 1; box < count; box++) order[next[parent[box]]++] = box;
  return { start, order };
}

/** Most boxes have few children: up to this number, insertion sort is faster than a call of `sort`. */
const FEW = 16;

function sortBySize(boxes: Int32Array, from: number, to: number, size: Float64Array): void {
  if (to - from > FEW) {
    boxes.subarray(from, to).sort((a, b) => size[b] - size[a] || a - b);
    return;
  }
  for (let next = from + 1; next < to; next++) {
    const box = boxes[next];
    let at = next;
    for (; at > from && size[boxes[at - 1]] < size[box]; at--) boxes[at] = boxes[at - 1];
    boxes[at] = box;
  }
}

/** Returns the frames from the root to a box, the box's own included. */
export function pathTo(tree: CallTree, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at > 0; at = tree.parent[at]) path.push(tree.frame[at]);
  return path.reverse();
}

/** Returns the box at the end of a path of frames, or the last one on the path that exists. */
export function boxAt(tree: CallTree, path: readonly number[]): number {
  let box = 0;
  for (const frame of path) {
    const child = childOf(tree, box, frame);
    if (child === undefined) break;
    box = child;
  }
  return box;
}

/** Returns the child of a box with the given frame. */
export function childOf(tree: CallTree, box: number, frame: number): number | undefined {
  const index = tree.frame.subarray(tree.childStart[box], tree.childEnd[box]).indexOf(frame);
  return index < 0 ? undefined : tree.childStart[box] + index;
}

/** Returns the sum of a box and its smaller siblings, and how many of them are not empty. */
export function restFrom(tree: CallTree, box: number): { count: number; value: number } {
  const total = tree.total[0];
  let [count, value] = [0, 0];
  for (let at = box; at < tree.childEnd[tree.parent[box]] && total[at] > 0; at++, count++) value += total[at];
  return { count, value };
}
