import { describe, expect, it } from "vitest";
import { GROUPINGS, groupContexts, sumByGroup } from "../../../src/explain/analyses/groups.ts";
import { profileOfPicture } from "../../heap-picture.ts";

const profile = profileOfPicture(`
  main > a > alloc      1 x 10
  main > b > alloc      2 x 10
  main > a > alloc@2    4 x 10
  main > b > other      8 x 10
  -                    16 x 10
`);

const allocationsBy = (by: (typeof GROUPINGS)[number]) => [
  ...sumByGroup(groupContexts(profile, by), profile.contexts.mibs.allocCount),
];

describe("grouping contexts", () => {
  it("by path keeps every call path apart", () => {
    expect(allocationsBy("path")).toEqual([1, 2, 4, 8, 16]);
  });

  it("by site joins the callers of one allocating call", () => {
    expect(allocationsBy("site")).toEqual([3, 4, 8, 16]);
  });

  it("by function joins all allocating calls of a function", () => {
    expect(allocationsBy("function")).toEqual([7, 8, 16]);
  });

  it("loses nothing: the sums of the groups are the sums of the contexts", () => {
    for (const by of GROUPINGS) {
      const groups = groupContexts(profile, by);
      expect(groups.contexts.flat().sort()).toEqual([0, 1, 2, 3, 4].sort());
      expect(sumByGroup(groups, profile.contexts.mibs.totalSize).reduce((a, b) => a + b)).toBe(310);
    }
  });
});
