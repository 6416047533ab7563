import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldContexts } from "../../../../../src/show/report/page/graph/layout/box-finder.ts";
import {
  boxAtPoint,
  drawnBoxes,
  rowOf,
} from "../../../../../src/show/report/page/graph/layout/drawn-boxes.ts";
import { boxAt, type CallTree, pathTo } from "../../../../../src/show/report/page/graph/layout/tree.ts";
import { drawnAt, placeOf, stepFrom } from "../../../../../src/show/report/page/graph/picture.ts";
import {
  baseTree,
  contextOf,
  widthsOf,
  withMeasures,
} from "../../../../../src/show/report/page/graph/use-graph.ts";
import { ALONE, contexts, FRAMES, fromPaths, sum, textOf, treeOf } from "./trees.ts";

function eachChild(tree: CallTree, visit: (child: number, box: number) => void): void {
  for (let box = 0; box < tree.count; box++)
    for (let child = tree.childStart[box]; child < tree.childEnd[box]; child++) visit(child, box);
}

describe("contexts as boxes", () => {
  it("are merged if their frames are equal below one box, largest first", () => {
    const drawn = fromPaths([
      [[0, 1], 10],
      [[0, 2, 3], 25],
      [[4], 5],
    ]);
    // The same path in another context, as two call sites of one line make it.
    drawn.frame[4] = 0;
    expect(textOf(treeOf(drawn))).toEqual([
      "all 0/40",
      "  f0 5/40",
      "    f2 0/25",
      "      f3 25/25",
      "    f1 10/10",
    ]);
  });

  it("keep every amount: own values, and totals of the root", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        expect(tree.total[0][0]).toBe(sum(drawn.own));
        expect(sum(tree.own[0])).toBe(sum(drawn.own));
      }),
    );
  });

  it("include the amounts of their children, which lie inside, side by side, largest first", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        const [own, total] = [tree.own[0], tree.total[0]];
        for (let box = 0; box < tree.count; box++) {
          const children = total.subarray(tree.childStart[box], tree.childEnd[box]);
          expect(own[box] + sum(children)).toBe(total[box]);
          expect([...children]).toEqual([...children].sort((a, b) => b - a));
        }
        eachChild(tree, (child, box) => {
          expect(tree.parent[child]).toBe(box);
          expect(tree.depth[child]).toBe(tree.depth[box] + 1);
          const before =
            child === tree.childStart[box] ? tree.start[box] : tree.start[child - 1] + total[child - 1];
          expect(tree.start[child]).toBe(before);
          expect(tree.start[child] + total[child]).toBeLessThanOrEqual(tree.start[box] + total[box]);
        });
      }),
    );
  });

  it("have one box per frame below a box", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        for (let box = 0; box < tree.count; box++) {
          const frames = tree.frame.subarray(tree.childStart[box], tree.childEnd[box]);
          expect(new Set(frames).size).toBe(frames.length);
        }
      }),
    );
  });

  it("are found by the frames that lead to them", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        for (let box = 0; box < tree.count; box++) expect(boxAt(tree, pathTo(tree, box))).toBe(box);
      }),
    );
  });

  it("are found as far as the path exists, so that a focus outlives a filter", () => {
    const tree = treeOf(fromPaths([[[0, 1, 2], 1]]));
    expect(pathTo(tree, boxAt(tree, [0, 1, 5]))).toEqual([0, 1]);
  });

  it("are sorted by size even if there are many", () => {
    const many = 500;
    const own = Float64Array.from({ length: many }, (_, row) => (row * 7919) % 97);
    const parent = new Int32Array(many).fill(-1);
    const frame = Int32Array.from({ length: many }, (_, row) => row);
    const { tree } = baseTree(foldContexts({ parent, frame }, { groupOf: frame }), own);
    const expected = [...frame].sort((a, b) => own[b] - own[a] || a - b);
    expect([...tree.frame.subarray(1)]).toEqual(expected);
  });

  it("nest as deep as the program did", () => {
    const deep = 70_000;
    const parent = Int32Array.from({ length: deep }, (_, row) => row - 1);
    const own = new Float64Array(deep);
    own[deep - 1] = 1;
    const { tree } = baseTree(foldContexts({ parent, frame: new Int32Array(deep) }, { groupOf: ALONE }), own);
    expect(tree.count).toBe(deep + 1);
    expect(tree.total[0][1]).toBe(1);
  });
});

describe("frames of a library", () => {
  // Frames 4 and 5 belong to a library.
  const isFolded = Uint8Array.of(0, 0, 0, 0, 1, 1);

  it("are one box with the function through which the library was entered", () => {
    const drawn = fromPaths([
      [[0, 4, 5, 5], 30],
      [[0, 4, 5, 1], 20],
      [[0, 5], 8],
    ]);
    expect(textOf(treeOf(drawn, { isFolded }))).toEqual([
      "all 0/58",
      "  f0 0/58",
      "    f4 30/50",
      "      f1 20/20",
      "    f5 8/8",
    ]);
  });

  it("keep their amounts", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn, { isFolded });
        expect(tree.total[0][0]).toBe(sum(drawn.own));
        eachChild(tree, (child, box) => {
          const areBoth = box > 0 && isFolded[tree.frame[box]] === 1 && isFolded[tree.frame[child]] === 1;
          expect(areBoth).toBe(false);
        });
      }),
    );
  });
});

describe("removed frames", () => {
  it("remove the paths through them, and the removed amount is returned", () => {
    fc.assert(
      fc.property(contexts, fc.nat(FRAMES - 1), (drawn, frame) => {
        const isRemoved = new Uint8Array(FRAMES);
        isRemoved[frame] = 1;
        const { tree, boxOf, removed } = baseTree(
          foldContexts(drawn, { groupOf: ALONE, isRemoved }),
          drawn.own,
        );
        expect([...tree.frame]).not.toContain(frame);
        expect(tree.total[0][0] + removed).toBe(sum(drawn.own));
        expect(sum(drawn.own.filter((_, context) => boxOf[context] < 0))).toBe(removed);
      }),
    );
  });
});

describe("further measures", () => {
  it("are summed in the boxes of the first measure", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const base = baseTree(foldContexts(drawn, { groupOf: ALONE }), drawn.own);
        const twice = drawn.own.map((value) => 2 * value);
        const tree = withMeasures(base, [twice]);
        expect([...tree.total[1]]).toEqual([...tree.total[0]].map((value) => 2 * value));
      }),
    );
  });

  it("of a comparison are as wide as the larger side, and the negative amount is returned", () => {
    expect(widthsOf(Float64Array.of(5, 0, 7), Float64Array.of(3, 4, 9)).values).toEqual(
      Float64Array.of(5, 4, 9),
    );
    expect(widthsOf(Float64Array.of(5, -3, 0), undefined)).toEqual({
      values: Float64Array.of(5, 0, 0),
      negative: -3,
    });
  });

  it("lead from a box to the context with most of its amount", () => {
    const drawn = fromPaths([
      [[0, 1], 10],
      [[2, 1], 90],
      [[0, 3], 1],
    ]);
    // Both are one box if frame 2 is shown as frame 0.
    const groupOf = Int32Array.of(0, 1, 0, 3);
    const base = baseTree(foldContexts(drawn, { groupOf }), drawn.own);
    const box = boxAt(base.tree, [0, 1]);
    expect(contextOf(base, drawn.parent, drawn.own, box)).toBe(3);
    expect(contextOf(base, drawn.parent, drawn.own, boxAt(base.tree, [0]))).toBe(2);
  });
});

describe("drawn boxes", () => {
  it("of a zoomed box fill the picture, down to half a pixel", () => {
    fc.assert(
      fc.property(contexts, fc.nat(), fc.integer({ min: 1, max: 200 }), (drawn, pick, width) => {
        const tree = treeOf(drawn);
        const zoomed = pick % tree.count;
        const boxes = drawnBoxes(tree, { zoomed }, width);
        const total = tree.total[0];
        expect(boxes.box[tree.depth[zoomed]]).toBe(zoomed);
        expect(boxes.width[tree.depth[zoomed]]).toBe(width);
        const single = [...boxes.box.subarray(0, boxes.count)].filter((_, index) => boxes.rest[index] === 0);
        const perUnit = total[zoomed] > 0 ? width / total[zoomed] : 0;
        for (let box = 0; box < tree.count; box++) {
          const isBelow = boxAt(tree, pathTo(tree, box).slice(0, tree.depth[zoomed])) === zoomed;
          const isAbove = boxAt(tree, pathTo(tree, zoomed).slice(0, tree.depth[box])) === box;
          const isWide = isAbove || (isBelow && total[box] * perUnit >= 0.5);
          expect(single.includes(box)).toBe(isWide);
        }
      }),
    );
  });

  it("combine boxes that are too narrow, with their number and sum", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        const boxes = drawnBoxes(tree, { zoomed: 0 }, 20);
        for (let index = 0; index < boxes.count; index++) {
          if (boxes.rest[index] === 0) continue;
          const siblings = tree.total[0].subarray(
            boxes.box[index],
            tree.childEnd[tree.parent[boxes.box[index]]],
          );
          const some = siblings.filter((value) => value > 0);
          expect(boxes.rest[index]).toBe(some.length);
          expect(boxes.value[index]).toBe(sum(some));
        }
      }),
    );
  });

  it("of a zoomed combined box fill the picture together", () => {
    const tree = treeOf(
      fromPaths([
        [[0], 1e6],
        [[1], 30],
        [[2], 10],
        [[3], 0],
      ]),
    );
    expect(drawnBoxes(tree, { zoomed: 0 }, 100).count).toBe(2);
    const near = drawnBoxes(tree, { zoomed: 0, from: 2 }, 100);
    expect([...near.box.subarray(0, near.count)]).toEqual([0, 2, 3]);
    expect([...near.width.subarray(0, near.count)]).toEqual([100, 75, 25]);
    expect([...near.x.subarray(0, near.count)]).toEqual([0, 0, 75]);
  });

  it("lie within the box above, and are found under each of their points", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const boxes = drawnBoxes(treeOf(drawn), { zoomed: 0 }, 100);
        for (let index = 0; index < boxes.count; index++) {
          const parent = boxes.parent[index];
          if (parent >= 0) {
            expect(boxes.x[index]).toBeGreaterThanOrEqual(boxes.x[parent] - 1e-3);
            expect(boxes.x[index] + boxes.width[index]).toBeLessThanOrEqual(
              boxes.x[parent] + boxes.width[parent] + 1e-3,
            );
            expect(rowOf(boxes, index)).toBe(rowOf(boxes, parent) + 1);
          }
          const middle = boxes.x[index] + boxes.width[index] / 2;
          expect(boxAtPoint(boxes, rowOf(boxes, index), middle)).toBe(index);
        }
        expect(boxAtPoint(boxes, boxes.rows, 0)).toBe(-1);
        expect(boxAtPoint(boxes, 0, 101)).toBe(-1);
      }),
    );
  });

  it("of an empty tree are the root alone", () => {
    const boxes = drawnBoxes(treeOf(fromPaths([[[0, 1], 0]])), { zoomed: 0 }, 100);
    expect([boxes.count, boxes.rows]).toEqual([1, 1]);
  });
});

describe("the keyboard's way", () => {
  const tree = treeOf(
    fromPaths([[[0, 1], 60], [[0, 2], 30], [[3], 10], ...[4, 5].map((frame) => [[frame], 0.1] as const)]),
  );
  const boxes = drawnBoxes(tree, { zoomed: 0 }, 100);
  const names = (index: number) => (boxes.rest[index] > 0 ? "rest" : `f${tree.frame[boxes.box[index]]}`);
  const walk = (...steps: Parameters<typeof stepFrom>[2][]) =>
    names(steps.reduce((at, step) => stepFrom(boxes, at, step), 0));

  it("leads to the largest child, to siblings, back and to both ends", () => {
    expect(walk("below")).toBe("f0");
    expect(walk("below", "below")).toBe("f1");
    expect(walk("below", "below", "next")).toBe("f2");
    expect(walk("below", "below", "next", "previous")).toBe("f1");
    expect(walk("below", "below", "next", "above")).toBe("f0");
    expect(walk("below", "last")).toBe("f3");
    expect(walk("below", "below", "first")).toBe("f-1");
  });

  it("stays if there is no box in that direction", () => {
    expect(walk("above")).toBe("f-1");
    expect(walk("previous")).toBe("f-1");
    expect(walk("below", "below", "below", "next", "next")).toBe("f2");
  });

  it("finds its box again after a new layout, or the innermost remaining box of its path", () => {
    fc.assert(
      fc.property(contexts, fc.nat(), (drawn, pick) => {
        const found = treeOf(drawn);
        const layout = drawnBoxes(found, { zoomed: 0 }, 100);
        const index = pick % layout.count;
        expect(drawnAt(found, layout, placeOf(found, layout, index))).toBe(index);
      }),
    );
    const narrow = drawnBoxes(tree, { zoomed: 0 }, 1);
    expect(names(drawnAt(tree, narrow, { path: [0, 2, 1], isRest: false }))).toBe("f0");
  });
});
