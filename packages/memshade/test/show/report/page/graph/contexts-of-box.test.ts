import { describe, expect, it } from "vitest";
import { foldContexts } from "../../../../../src/show/report/page/graph/layout/box-finder.ts";
import {
  type BoxEnd,
  contextsOfBox,
} from "../../../../../src/show/report/page/graph/layout/contexts-of-box.ts";
import { type CallTree, pathTo } from "../../../../../src/show/report/page/graph/layout/tree.ts";
import { baseTree, callersTree, sandwichTrees } from "../../../../../src/show/report/page/graph/use-graph.ts";
import { fromPaths } from "./trees.ts";

const { parent, frame, own } = fromPaths([
  [[0, 1, 2], 600],
  [[5, 3, 2], 124],
  [[5, 3], 3],
  [[0, 1, 4, 4], 200],
  [[0, 3, 4, 2], 20],
  [[2, 1, 3, 1], 50],
  [[2], 7],
]);
const contexts = { parent, frame };

describe.each([
  ["plain", {}],
  ["lines of two addresses as one", { groupOf: [0, 1, 2, 1, 4, 0] }],
  ["libraries folded", { isFolded: [0, 0, 0, 0, 1, 1] }],
  ["all calls as one, and one removed", { groupOf: [0, 1, 2, 1, 4, 0], isRemoved: [0, 0, 0, 0, 1, 0] }],
])(
  "the contexts of a box, %s",
  (_, some: { groupOf?: number[]; isFolded?: number[]; isRemoved?: number[] }) => {
    const rules = {
      groupOf: Int32Array.from(some.groupOf ?? [0, 1, 2, 3, 4, 5]),
      isFolded: some.isFolded && Uint8Array.from(some.isFolded),
      isRemoved: some.isRemoved && Uint8Array.from(some.isRemoved),
    };
    const { tree } = baseTree(foldContexts(contexts, rules), own);
    const sumOf = (from: BoxEnd, path: readonly number[]) =>
      contextsOfBox(contexts, rules, { from, path }).reduce(
        (sum, isChosen, context) => sum + isChosen * own[context],
        0,
      );
    const expectAll = (drawn: CallTree, from: BoxEnd) => {
      expect(drawn.count).toBeGreaterThan(1);
      for (let box = 1; box < drawn.count; box++) {
        const path = pathTo(drawn, box);
        expect(sumOf(from, path), `${from} ${path}`).toBe(drawn.total[0][box]);
      }
    };

    it("have its sum, from the root and from where it was counted", () => {
      expectAll(tree, "root");
      expectAll(callersTree(tree, []), "site");
    });

    it("have its sum on both sides of every frame, recursion counted once", () => {
      for (const centre of new Set(tree.frame.subarray(1))) {
        const { callers, callees } = sandwichTrees(tree, centre);
        expectAll(callers, "callers");
        expectAll(callees, "callees");
      }
    });

    it("are none of a path that leads nowhere", () => {
      expect(sumOf("root", [])).toBe(0);
      expect(sumOf("root", [99])).toBe(0);
    });
  },
);
