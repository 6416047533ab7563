import { BoxFinder } from "./box-finder.ts";
import type { CallTree, FoundBoxes } from "./tree.ts";

/** Where inverted stacks begin: boxes of a tree, and how much of each measure begins there. */
export interface Seeds {
  boxes: Int32Array;
  values: readonly Float64Array[];
}

/** What of an inverted tree is built: its boxes multiply with every step, and few are wide enough to be seen. */
export interface Detail {
  /** The path of frames that is zoomed to. What lies beside it gets no further children. */
  zoom: readonly number[];
  /** The least part of the zoomed box (0 to 1) that a box needs to get children. */
  share: number;
}

/** Everything that a tree holds, each amount where it ends. */
export function ownSeeds({ count, own }: CallTree): Seeds {
  const boxes = new Int32Array(count);
  let found = 0;
  for (let box = 1; box < count; box++) if (own.some((column) => column[box] !== 0)) boxes[found++] = box;
  return seedsAt(boxes.subarray(0, found), own);
}

/** The outermost boxes of a frame with all that is below them: what recursion calls again counts once. */
export function outermostSeeds({ count, parent, frame, total }: CallTree, wanted: number): Seeds {
  const isInside = new Uint8Array(count);
  const boxes: number[] = [];
  for (let box = 1; box < count; box++) {
    if (isInside[parent[box]] === 0 && frame[box] === wanted) boxes.push(box);
    if (isInside[parent[box]] === 1 || frame[box] === wanted) isInside[box] = 1;
  }
  return seedsAt(Int32Array.from(boxes), total);
}

function seedsAt(boxes: Int32Array, columns: readonly Float64Array[]): Seeds {
  const pick = (column: Float64Array) => {
    const values = new Float64Array(boxes.length);
    for (let row = 0; row < boxes.length; row++) values[row] = column[boxes[row]];
    return values;
  };
  return { boxes, values: columns.map(pick) };
}

/** A box of the inverted tree and what it is made of: boxes of the tree, each with the part of it that is meant. */
interface Holding extends Seeds {
  box: number;
  /** How many frames of the zoomed path lead here; all of them below it too; −1 beside it. */
  followed: number;
}

/**
 * The tree with callers as children: below the root the frames of the seeds, below each who called it. The own value of
 * a box is what no frame called, and all that it holds where its callers were not looked for.
 */
export function invert(tree: CallTree, seeds: Seeds, { zoom, share }: Detail): FoundBoxes {
  const finder = new BoxFinder();
  const callers = new Callers(tree);
  const own = seeds.values.map(() => [0]);
  let least: number | undefined;
  const holdings: Holding[] = [{ box: 0, followed: 0, ...seeds }];
  // What is added meanwhile is visited too.
  for (const holding of holdings) {
    const { box, followed } = holding;
    const size = sum(holding.values[0]);
    const isBelowZoom = followed === zoom.length;
    if (isBelowZoom) least ??= share * size;
    if (followed >= 0 && !(isBelowZoom && size < least!)) {
      // The root's children are the seeds themselves.
      const { ended, merged } = box === 0 ? { ended: undefined, merged: seeds } : callers.of(holding);
      if (ended !== undefined) for (const [measure, value] of ended.entries()) own[measure][box] = value;
      for (const child of split(tree, merged, (frame) => finder.below(box, frame))) {
        for (const column of own) column[child.box] = 0;
        const frame = finder.frameOf(child.box);
        holdings.push({
          ...child,
          followed: isBelowZoom ? followed : frame === zoom[followed] ? followed + 1 : -1,
        });
      }
    } else for (const [measure, values] of holding.values.entries()) own[measure][box] = sum(values);
  }
  return finder.finish(own.map((values) => Float64Array.from(values)));
}

/** Finds the callers of many boxes at once; its arrays are as long as the tree and used again. */
class Callers {
  readonly #tree: CallTree;
  /** Where each box of the tree stands among the merged ones, and of which question that is. */
  readonly #place: Int32Array;
  readonly #question: Int32Array;
  #asked = 0;

  constructor(tree: CallTree) {
    this.#tree = tree;
    this.#place = new Int32Array(tree.count);
    this.#question = new Int32Array(tree.count);
  }

  /** The boxes that called those of a holding, each once, and the sums per measure of what nobody called. */
  of({ boxes, values }: Seeds): { ended: number[]; merged: Seeds } {
    this.#asked += 1;
    const { parent } = this.#tree;
    const called = new Int32Array(boxes.length);
    const sums = values.map(() => new Float64Array(boxes.length));
    const ended = values.map(() => 0);
    let count = 0;
    for (let row = 0; row < boxes.length; row++) {
      const caller = parent[boxes[row]];
      if (caller === 0) {
        for (let measure = 0; measure < values.length; measure++) ended[measure] += values[measure][row];
        continue;
      }
      if (this.#question[caller] !== this.#asked) {
        this.#question[caller] = this.#asked;
        this.#place[caller] = count;
        called[count++] = caller;
      }
      const place = this.#place[caller];
      for (let measure = 0; measure < values.length; measure++) sums[measure][place] += values[measure][row];
    }
    return {
      ended,
      merged: { boxes: called.subarray(0, count), values: sums.map((column) => column.subarray(0, count)) },
    };
  }
}

/** Parts boxes of a tree by the box that `boxOf` gives for their frame; new boxes have numbers that follow each other. */
function split(
  tree: CallTree,
  { boxes, values }: Seeds,
  boxOf: (frame: number) => number,
): (Seeds & { box: number })[] {
  if (boxes.length === 0) return [];
  const target = new Int32Array(boxes.length);
  let last = 0;
  for (let row = 0; row < boxes.length; row++) {
    target[row] = boxOf(tree.frame[boxes[row]]);
    last = Math.max(last, target[row]);
  }
  const first = target[0];
  const start = new Int32Array(last - first + 2);
  for (const box of target) start[box - first + 1] += 1;
  for (let part = 1; part < start.length; part++) start[part] += start[part - 1];
  const next = start.slice();
  const sorted = new Int32Array(boxes.length);
  const columns = values.map(() => new Float64Array(boxes.length));
  for (let row = 0; row < boxes.length; row++) {
    const at = next[target[row] - first]++;
    sorted[at] = boxes[row];
    for (let measure = 0; measure < values.length; measure++) columns[measure][at] = values[measure][row];
  }
  return Array.from({ length: last - first + 1 }, (_, part) => ({
    box: first + part,
    boxes: sorted.subarray(start[part], start[part + 1]),
    values: columns.map((column) => column.subarray(start[part], start[part + 1])),
  }));
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
