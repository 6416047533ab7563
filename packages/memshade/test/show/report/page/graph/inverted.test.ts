import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  arrange,
  boxAt,
  type CallTree,
  pathTo,
} from "../../../../../src/show/report/page/graph/layout/tree.ts";
import {
  callersTree,
  centreOf,
  invert,
  ownSeeds,
  sandwichTrees,
} from "../../../../../src/show/report/page/graph/use-graph.ts";
import { ALONE, contexts, type Drawn, FRAMES, fromPaths, sum, textOf, treeOf } from "./trees.ts";

/** The whole inverted tree, which no screen has room for. */
function wholeInverted(tree: CallTree): CallTree {
  return arrange(invert(tree, ownSeeds(tree), { zoom: [], share: 0 })).tree;
}

/** Own value of each path, if it is not 0. */
function ownOfPaths(tree: CallTree): Map<string, number> {
  const paths = [...tree.frame.keys()].filter((box) => tree.own[0][box] > 0);
  return new Map(paths.map((box): [string, number] => [pathTo(tree, box).join(), tree.own[0][box]]).sort());
}

/** Total of all contexts that pass through a frame, each once. */
function through({ parent, frame, own }: Drawn, wanted: number): number {
  const isThrough = new Uint8Array(own.length);
  for (let context = 0; context < own.length; context++)
    if (frame[context] === wanted || (parent[context] >= 0 && isThrough[parent[context]] === 1))
      isThrough[context] = 1;
  return sum(own.filter((_, context) => isThrough[context] === 1));
}

describe("bottom-up", () => {
  it("has sites on top and their callers below", () => {
    const tree = treeOf(
      fromPaths([
        [[0, 1, 3], 10],
        [[0, 2, 3], 20],
        [[0, 2], 5],
      ]),
    );
    expect(textOf(wholeInverted(tree))).toEqual([
      "all 0/35",
      "  f3 0/30",
      "    f2 0/20",
      "      f0 20/20",
      "    f1 0/10",
      "      f0 10/10",
      "  f2 0/5",
      "    f0 5/5",
    ]);
  });

  it("has the own amount of the frame at each site, and the tree's total at the root", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        const inverted = wholeInverted(tree);
        expect(inverted.total[0][0]).toBe(sum(drawn.own));
        for (let frame = 0; frame < FRAMES; frame++) {
          const own = sum(drawn.own.filter((_, context) => drawn.frame[context] === frame));
          const box = boxAt(inverted, [frame]);
          expect(box === 0 ? 0 : inverted.total[0][box]).toBe(own);
        }
      }),
    );
  });

  it("is the original tree after a second inversion", () => {
    fc.assert(
      fc.property(contexts, (drawn) => {
        const tree = treeOf(drawn);
        const again = wholeInverted(wholeInverted(tree));
        expect(ownOfPaths(again)).toEqual(ownOfPaths(tree));
      }),
    );
  });

  it("keeps the sums of callers that are too narrow, and shows these callers when zoomed", () => {
    const tree = treeOf(
      fromPaths([
        [[0, 1, 2], 1],
        [[0, 3], 9999],
      ]),
    );
    const far = callersTree(tree, []);
    expect(boxAt(far, [2])).toBeGreaterThan(0);
    expect(far.total[0][0]).toBe(10_000);
    expect(boxAt(far, [2, 1])).toBe(boxAt(far, [2]));
    const near = callersTree(tree, [2]);
    expect(boxAt(near, [2, 1, 0])).toBeGreaterThan(boxAt(near, [2, 1]));
    expect(near.total[0][0]).toBe(10_000);
  });

  it("is built down to the last box of a path that does not exist completely", () => {
    const tree = treeOf(
      fromPaths([
        [[0, 1, 2], 1],
        [[0, 3], 9999],
      ]),
    );
    const inverted = callersTree(tree, [2, 5, 5]);
    expect(boxAt(inverted, [2, 1, 0])).toBeGreaterThan(boxAt(inverted, [2, 1]));
  });
});

describe("a sandwich", () => {
  it("has the same amount on both sides: all paths through the frame, recursion counted once", () => {
    fc.assert(
      fc.property(contexts, fc.nat(FRAMES - 1), (drawn, frame) => {
        const { callers, callees } = sandwichTrees(treeOf(drawn), frame);
        const expected = through(drawn, frame);
        expect(callers.total[0][0]).toBe(expected);
        expect(callees.total[0][0]).toBe(expected);
        // Below the root there is only the frame.
        expect(callees.childEnd[0] - callees.childStart[0]).toBe([...drawn.frame].includes(frame) ? 1 : 0);
      }),
    );
  });

  it("shows callers and callees", () => {
    const tree = treeOf(
      fromPaths([
        [[0, 1, 2], 10],
        [[3, 1], 4],
        [[0, 1, 2, 1, 5], 7],
      ]),
    );
    const { callers, callees } = sandwichTrees(tree, 1);
    expect(textOf(callers)).toEqual(["all 0/21", "  f1 0/21", "    f0 17/17", "    f3 4/4"]);
    expect(textOf(callees)).toEqual([
      "all 0/21",
      "  f1 4/21",
      "    f2 10/17",
      "      f1 0/7",
      "        f5 7/7",
    ]);
  });

  it("shows the selected function, else the program's own function with the largest box", () => {
    const tree = treeOf(
      fromPaths([
        [[0, 1, 4], 10],
        [[2], 4],
      ]),
    );
    const isLibrary = Uint8Array.of(0, 0, 0, 0, 1, 0);
    expect(centreOf(tree, [undefined, 2], ALONE, isLibrary)).toBe(2);
    expect(centreOf(tree, [5, undefined], ALONE, isLibrary)).toBe(1);
    expect(centreOf(treeOf(fromPaths([])), [], ALONE, isLibrary)).toBe(undefined);
  });
});
