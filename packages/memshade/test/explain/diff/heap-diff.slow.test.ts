import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUPINGS } from "../../../src/explain/analyses/groups.ts";
import { isWithinSpread, rankChanges } from "../../../src/explain/diff/changes.ts";
import { exceededTotals, parseGrowthLimit } from "../../../src/explain/diff/growth-limit.ts";
import { diffHeaps, groupAt, type HeapDiff } from "../../../src/explain/diff/heap-diff.ts";
import { profileOfPicture, rawProfileOfPicture } from "../../heap-picture.ts";
import { heapProfile } from "../../show/report/arbitrary.ts";

const before = profileOfPicture(`
  main > parse > newNode     100 x 64   peak 10
  main > load > newTable       1 x 4096 peak 1  live 1
  main > log > format         50 x 32
`);
const after = profileOfPicture(`
  main > log > format         50 x 32
  main > parse > newNode     120 x 64   peak 12
  main > cache > newEntry      4 x 256  peak 4  live 4
`);

const changeOf = (diff: HeapDiff, id: string) => diff.changes.find(({ measure }) => measure.id === id)!;
const values = (diff: HeapDiff, id: string) => {
  const change = changeOf(diff, id);
  return rankChanges(change).map((pair) => [change.old[pair], change.new[pair]]);
};

describe("the difference of two heap profiles", () => {
  const diff = diffHeaps(before, after, "site");

  it("has what grew, what came and what went, the largest change first", () => {
    expect(values(diff, "bytes")).toEqual([
      [4096, 0],
      [6400, 7680],
      [0, 1024],
    ]);
    expect(diff.pairs).toHaveLength(4);
  });

  it("has the totals of all that both profiles know", () => {
    expect(changeOf(diff, "blocks").total).toEqual({ old: 151, new: 174 });
    expect(changeOf(diff, "left").total).toEqual({ old: 4096, new: 1024 });
    const withRaw = diffHeaps(before, rawProfileOfPicture("main > parse > newNode  1 x 8"), "site");
    expect(withRaw.changes.map(({ measure }) => measure.id)).not.toContain("peak");
  });

  it("has no lifetimes of different clocks", () => {
    const description = { ...after.description, clock: { kind: "wall", unit: "ms" } as const };
    const { changes } = diffHeaps(before, { ...after, description }, "site");
    expect(changes.map(({ measure }) => measure.id)).not.toContain("lifetime");
  });

  it("of a profile and itself is empty, whatever is in it", () => {
    fc.assert(
      fc.property(heapProfile, fc.constantFrom(...GROUPINGS), (profile, by) => {
        const { changes, pairs } = diffHeaps(profile, profile, by);
        for (const change of changes) expect(rankChanges(change)).toEqual([]);
        expect(pairs.every((pair) => pair.old === pair.new)).toBe(true);
      }),
    );
  });

  it("backwards has the same pairs the other way round, and each group once", () => {
    fc.assert(
      fc.property(heapProfile, heapProfile, fc.constantFrom(...GROUPINGS), (a, b, by) => {
        const [forth, back] = [diffHeaps(a, b, by), diffHeaps(b, a, by)];
        const text = (pairs: readonly unknown[]) => pairs.map((pair) => JSON.stringify(pair)).sort();
        expect(text(back.pairs.map((pair) => ({ old: pair.new, new: pair.old })))).toEqual(text(forth.pairs));
        const numbers = forth.pairs.flatMap((pair) => (pair.new === undefined ? [] : [pair.new]));
        expect(numbers.sort((x, y) => x - y)).toEqual([...Array(forth.new.length).keys()]);
      }),
    );
  });

  it("adds up: the changes of all sites are the change of the total", () => {
    fc.assert(
      fc.property(heapProfile, heapProfile, (a, b) => {
        const { total, old, new: now } = changeOf(diffHeaps(a, b, "site"), "blocks");
        expect(now.reduce((sum, value, pair) => sum + value - old[pair]!, 0)).toBe(total.new - total.old);
      }),
    );
  });
});

describe("sites that a change of the source moved", () => {
  // The second call of a function is behind the first one.
  const twoCalls = profileOfPicture("main > parse@2 > newNode@2  1 x 8\nmain > parse@3 > newNode@3  1 x 500");

  it("are told by their order in the function", () => {
    const moved = profileOfPicture("main > parse@5 > newNode@7  1 x 600\nmain > parse@4 > newNode@5  1 x 9");
    expect(values(diffHeaps(twoCalls, moved, "site"), "bytes")).toEqual([
      [500, 600],
      [8, 9],
    ]);
  });

  it("are told from a new one among them by how far they moved", () => {
    const more = profileOfPicture(
      "main > parse > newNode@7  1 x 9\nmain > parse > newNode@8  1 x 500\nmain > parse > newNode@5  1 x 7",
    );
    expect(values(diffHeaps(twoCalls, more, "site"), "bytes")).toEqual([
      [0, 7],
      [8, 9],
    ]);
  });
});

describe("the difference of several runs", () => {
  const run = (parsed: number, cached: number) =>
    profileOfPicture(`main > parse > newNode  ${parsed} x 10\nmain > cache > newEntry  ${cached} x 1`);
  const old = [run(100, 50), run(102, 60), run(104, 55)];
  const now = [run(103, 90), run(105, 95)];
  const diff = diffHeaps(old, now, "site");
  const change = changeOf(diff, "bytes");

  it("is that of their medians, with the smallest and the largest of each side", () => {
    expect(change.total).toEqual({ old: 1080, new: 1132.5 });
    expect(change.spread?.total).toEqual({ old: [1050, 1095], new: [1120, 1145] });
    expect(values(diff, "bytes")).toEqual([
      [55, 92.5],
      [1020, 1040],
    ]);
  });

  it("puts last what is within the spread", () => {
    expect(rankChanges(change).map((pair) => isWithinSpread(change, pair))).toEqual([false, true]);
  });

  it("has groups of any of the runs", () => {
    const more = profileOfPicture("main > parse > newNode  1 x 10\nmain > late > newLate  1 x 8");
    const { pairs, sides } = diffHeaps([run(1, 1), more], [run(1, 1)], "site");
    const names = pairs.map(({ old: group }) => {
      const { run: of, group: number } = groupAt(sides.old, group!);
      return of.profile.strings[
        of.profile.functions.name[
          of.profile.frames.function[
            of.profile.stacks.frame[of.profile.contexts.stack[of.groups.contexts[number]![0]!]!]!
          ]!
        ]!
      ];
    });
    expect(names.sort()).toEqual(["newEntry", "newLate", "newNode"]);
  });

  it("against themselves is within the spread, all of it", () => {
    fc.assert(
      fc.property(heapProfile, heapProfile, (a, b) => {
        for (const one of diffHeaps([a, b], [b, a], "site").changes)
          expect(rankChanges(one).filter((pair) => !isWithinSpread(one, pair))).toEqual([]);
      }),
    );
  });
});

describe("a limit of growth", () => {
  const diff = diffHeaps(before, after, "site");
  const exceeded = (limit: string) => exceededTotals(diff.changes, parseGrowthLimit(limit));

  it("is a part of the older total, or an amount", () => {
    expect(exceeded("count+15%")).toEqual({ old: 151, new: 174 });
    expect(exceeded("count+16%")).toBeUndefined();
    expect(exceeded("count+22")).toEqual({ old: 151, new: 174 });
    expect(exceeded("count+23")).toBeUndefined();
    expect(exceeded("peak+1KiB")).toBeUndefined();
    expect(exceeded("live+0")).toBeUndefined();
  });

  it("that makes no sense is a mistake of the user", () => {
    for (const text of [
      "bytes",
      "bytes+",
      "+10%",
      "density+10%",
      "bytes+10x",
      "bytes-5%",
      "bytes+constructor",
    ])
      expect(() => parseGrowthLimit(text), text).toThrow("--fail-on takes one of");
    const raw = rawProfileOfPicture("main > parse  1 x 8");
    expect(() => exceededTotals(diffHeaps(before, raw, "site").changes, parseGrowthLimit("peak+1"))).toThrow(
      "the profiles do not both have peak",
    );
  });
});
