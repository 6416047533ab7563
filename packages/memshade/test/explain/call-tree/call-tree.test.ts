import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { type CallNode, type CallTree, callTree } from "../../../src/explain/call-tree/call-tree.ts";
import { sampleStacks } from "../../../src/explain/call-tree/sample-stacks.ts";
import {
  type StackGrouping,
  type WeightedStacks,
  weightedStacks,
} from "../../../src/explain/call-tree/weighted-stacks.ts";
import { isAdditive, MEASURES, stacksOf } from "../../../src/explain/measures/index.ts";
import type { MeasuredProfiles } from "../../../src/explain/measures/measure.ts";
import type { MeasuredTool } from "../../../src/explain/measures/measured-stacks.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { profileOfPicture } from "../../heap-picture.ts";
import { sampleProfileOf } from "../../sample-picture.ts";
import { heapProfile } from "../../show/report/arbitrary.ts";
import { pictureOf } from "../../show/report/working-set-picture.ts";
import { load, store, wasteOf } from "../analyses/waste/waste-picture.ts";

function stacksIn(tool: MeasuredTool, profiles: MeasuredProfiles): WeightedStacks {
  return weightedStacks(stacksOf(tool, profiles)!, profiles);
}

const heapStacks = (heap: HeapProfile) => stacksIn("heap", { heap });

interface Wanted {
  by?: string;
  group?: StackGrouping;
  isInverted?: boolean;
}

function treeOf(
  stacks: WeightedStacks,
  { by, group = "function", isInverted = false }: Wanted = {},
): CallTree {
  const metric = by === undefined ? 0 : stacks.metrics.findIndex(({ key }) => key === by);
  return callTree(stacks, { metric, group, isInverted });
}

/** `main 30/0 > parse 30/10`: total and own, one line per node, indented. */
function drawn(nodes: readonly CallNode[], margin = ""): string[] {
  return nodes.flatMap(({ frame, total, own, children }) => {
    const name = frame.isWord ? `[${frame.function}]` : frame.function;
    return [`${margin}${name} ${total}/${own}`, ...drawn(children, `${margin}  `)];
  });
}

function everyNode(nodes: readonly CallNode[]): CallNode[] {
  return nodes.flatMap((node) => [node, ...everyNode(node.children)]);
}

const PICTURE = `
  main > parse > grow     1 x 30
  main > parse            1 x 5
  main > load > grow      1 x 50
  -                       1 x 7
`;

describe("a call tree", () => {
  const stacks = heapStacks(profileOfPicture(PICTURE));

  it("has what each function allocated, and with all that it called; the largest stand first", () => {
    expect(drawn(treeOf(stacks).roots)).toEqual([
      "main 85/0",
      "  load 50/0",
      "    grow 50/50",
      "  parse 35/5",
      "    grow 30/30",
      "[no call path] 7/7",
    ]);
  });

  it("inverted begins with what allocates, and tells who called it", () => {
    expect(drawn(treeOf(stacks, { isInverted: true }).roots)).toEqual([
      "grow 80/0",
      "  load 50/0",
      "    main 50/50",
      "  parse 30/0",
      "    main 30/30",
      "[no call path] 7/7",
      "parse 5/0",
      "  main 5/5",
    ]);
  });

  it("tells calls of a function apart by their places, or takes them for one", () => {
    const twice = heapStacks(profileOfPicture("main > grow@1  1 x 3\nmain > grow@2  1 x 4"));
    expect(drawn(treeOf(twice, { group: "site" }).roots)).toEqual(["main 7/0", "  grow 4/4", "  grow 3/3"]);
    const [main] = treeOf(twice).roots;
    expect(main!.children).toMatchObject([{ total: 7, places: 2, frame: { function: "grow" } }]);
  });

  it("has every call of a function that calls itself", () => {
    const recursive = heapStacks(profileOfPicture("main > walk > walk > walk  1 x 3"));
    expect(drawn(treeOf(recursive).roots)).toEqual([
      "main 3/0",
      "  walk 3/0",
      "    walk 3/0",
      "      walk 3/3",
    ]);
  });

  it("leaves out paths without a value", () => {
    const tree = treeOf(heapStacks(profileOfPicture("main > parse  1 x 8\nmain > load  2 x 8 live 1")), {
      by: "left",
    });
    expect(tree.paths).toBe(1);
    expect(drawn(tree.roots)).toEqual(["main 8/0", "  load 8/8"]);
  });

  it("adds up, in every node and in all, whatever is in the profile", () => {
    const options = fc.record({ group: fc.constantFrom("site", "function"), isInverted: fc.boolean() });
    fc.assert(
      fc.property(heapProfile, options, fc.boolean(), (profile, wanted, areLibrariesKnown) => {
        const shown = areLibrariesKnown ? withOwnSites(profile, new FrameRules()) : profile;
        const of = heapStacks(shown);
        for (const [index, { key }] of of.metrics.entries()) {
          const tree = callTree(of, {
            ...(wanted as { group: StackGrouping; isInverted: boolean }),
            metric: index,
          });
          const all = of.rows.reduce((sum, { values }) => sum + values[index]!, 0);
          expect(tree.total, key).toBe(all);
          expect(tree.roots.reduce((sum, { total }) => sum + total, 0)).toBe(all);
          for (const node of everyNode(tree.roots))
            expect(node.children.reduce((sum, { total }) => sum + total, node.own)).toBe(node.total);
        }
      }),
    );
  });

  it("of any other direction or grouping has the same total, and inverted the own parts as roots", () => {
    fc.assert(
      fc.property(heapProfile, (profile) => {
        const of = heapStacks(profile);
        const own = new Map<unknown, number>();
        for (const node of everyNode(treeOf(of).roots).filter((one) => one.own > 0))
          own.set(node.frame.function, (own.get(node.frame.function) ?? 0) + node.own);
        const roots = new Map<unknown, number>();
        for (const node of treeOf(of, { isInverted: true }).roots)
          roots.set(node.frame.function, (roots.get(node.frame.function) ?? 0) + node.total);
        expect(roots).toEqual(own);
      }),
    );
  });
});

describe("the call paths of a heap", () => {
  it("have every metric that adds up, and no other", () => {
    const keys = heapStacks(profileOfPicture(PICTURE)).metrics.map(({ key }) => key);
    expect(keys).toContain("left");
    expect(keys).not.toContain("density");
    expect(MEASURES.filter(isAdditive).map(({ id }) => id)).toEqual(expect.arrayContaining(keys));
  });

  it("lead from the program's first function to its own places; libraries between are one word", () => {
    const profile = profileOfPicture(
      "_start > main > qsort > cmp > strdup > malloc_inner  1 x 9\nmain > std::sort > std::swap > compare  1 x 3",
    );
    const own = heapStacks(withOwnSites(profile, new FrameRules({ library: ["malloc_inner"] })));
    expect(drawn(treeOf(own).roots)).toEqual([
      "main 12/0",
      "  [the C library] 9/0",
      "    cmp 9/9",
      "  [the C++ library] 3/0",
      "    compare 3/3",
    ]);
  });

  it("of nothing but libraries are their innermost function", () => {
    const profile = withOwnSites(profileOfPicture("_start > exit > fflush  1 x 9"), new FrameRules());
    expect(treeOf(heapStacks(profile)).total).toBe(9);
    expect(treeOf(heapStacks(profile)).roots).toHaveLength(1);
  });
});

describe("the call paths of other tools", () => {
  it("of waste lead to stores and loads, and say where callers are missing", () => {
    const file = wasteOf({
      stores: [
        store("fill", 3, { dead_overwritten: 10, nof_stores: 2 }),
        store("fill", 9, { dead_overwritten: 4, dead_exit: 3 }),
      ],
      loads: [load("fill", 3, { nof_loads: 5, nof_silent: 2 })],
    });
    const stacks = stacksIn("waste", { waste: file });
    expect(drawn(treeOf(stacks, { by: "dead" }).roots)).toEqual(["fill 14/14"]);
    expect(drawn(treeOf(stacks, { by: "dead-ended" }).roots)).toEqual(["fill 3/3"]);
    expect(drawn(treeOf(stacks, { by: "redundant" }).roots)).toEqual(["fill 2/2"]);
    expect(stacks.gaps.join()).toContain("--contexts");
  });

  it("of a working set lead to where intervals with new lines ended", () => {
    const stacks = stacksIn("workingset", { workingset: pictureOf(["abc", "ad"], ["parse", "print"]) });
    expect(drawn(treeOf(stacks, { by: "new" }).roots)).toEqual([
      "main 256/0",
      "  parse 192/192",
      "  print 64/64",
    ]);
  });

  it("of samples have all frames, by each of their values", () => {
    const profile = sampleProfileOf("main > ~each > visit : 3 100\nmain > read : 1 300", {
      valueTypes: [
        { type: "samples", unit: "count" },
        { type: "cpu", unit: "nanoseconds" },
      ],
    });
    const stacks = sampleStacks(profile);
    expect(drawn(treeOf(stacks).roots)).toEqual(["main 4/0", "  each 3/0", "    visit 3/3", "  read 1/1"]);
    expect(drawn(treeOf(stacks, { by: "cpu" }).roots)[1]).toBe("  read 300/300");
  });
});
