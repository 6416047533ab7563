import { describe, expect, it } from "vitest";
import type { GroupBy } from "../../../src/explain/analyses/groups.ts";
import { rankChanges } from "../../../src/explain/diff/changes.ts";
import { commonFindings, diffFindings } from "../../../src/explain/diff/finding-diff.ts";
import { diffPlaces, type PlaceDiff, placeTables } from "../../../src/explain/diff/place-diff.ts";
import type { Finding } from "../../../src/explain/findings/index.ts";
import type { WorkingSetProfile } from "../../../src/profile/model/working-set/working-set.ts";
import { pictureOf } from "../../show/report/working-set-picture.ts";
import { load, store, wasteOf } from "../analyses/waste/waste-picture.ts";

/** `parse:3 10 → 20`, the largest change first. */
function rows(diff: PlaceDiff, id: string): string[] {
  const change = diff.changes.find(({ measure }) => measure.id === id)!;
  return rankChanges(change).map((row) => {
    const pair = diff.pairs[row]!;
    const { path } = pair.new === undefined ? diff.old[pair.old!]! : diff.new[pair.new]!;
    const value = (side: "old" | "new") => (pair[side] === undefined ? "–" : change[side][row]);
    return `${path[0]!.function}:${path[0]!.line} ${value("old")} → ${value("new")}`;
  });
}

const totals = ({ changes }: PlaceDiff) =>
  Object.fromEntries(changes.map(({ measure, total }) => [measure.id, total]));

const dead = (name: string, line: number, bytes: number) =>
  store(name, line, { bytes_written: 100, dead_overwritten: bytes, nof_stores: 10 });

describe("waste of two runs", () => {
  const before = wasteOf({
    stores: [dead("parse", 3, 10), dead("fill", 7, 50), dead("old", 1, 5)],
    loads: [load("parse", 3, { nof_loads: 9, nof_silent: 4 })],
  });
  const after = wasteOf({
    stores: [dead("parse", 3, 90), dead("fill", 9, 50), dead("fresh", 1, 7)],
    loads: [load("parse", 3, { nof_loads: 9, nof_silent: 5 })],
  });
  const diffOf = (group: GroupBy = "site", older = before, newer = after) => {
    const [old, now] = placeTables("waste", [{ waste: older }, { waste: newer }], group);
    return diffPlaces([old!], [now!]);
  };

  it("is compared site by site; one that moved to another line is the same", () => {
    expect(rows(diffOf(), "dead")).toEqual(["parse:3 10 → 90", "fresh:1 – → 7", "old:1 5 → –"]);
    expect(rows(diffOf(), "redundant")).toEqual(["parse:3 4 → 5"]);
    expect(totals(diffOf())).toMatchObject({ dead: { old: 65, new: 147 }, written: { old: 300, new: 300 } });
  });

  it("has no redundant loads where the two runs mean different things by that", () => {
    const precise = { ...after, options: { ...after.options, engine: "full" as const } };
    expect(totals(diffOf("site", before, precise))).not.toHaveProperty("redundant");
  });
});

describe("waste of two runs, of which one has calling contexts", () => {
  it("is compared without them", () => {
    const called = { ...dead("fill", 7, 50), ips: [...dead("fill", 7, 50).ips, ...dead("main", 2, 0).ips] };
    const withContexts = wasteOf({ stores: [called] });
    withContexts.options.contexts = true;
    const [old, now] = placeTables(
      "waste",
      [{ waste: withContexts }, { waste: wasteOf({ stores: [dead("fill", 7, 50)] }) }],
      "path",
    );
    expect(rows(diffPlaces([old!], [now!]), "dead")).toEqual([]);
  });
});

describe("working sets of two runs", () => {
  const diffOf = (older: WorkingSetProfile, newer: WorkingSetProfile, group: GroupBy) => {
    const [old, now] = placeTables("workingset", [{ workingset: older }, { workingset: newer }], group);
    return diffPlaces([old!], [now!]);
  };
  const before = pictureOf(["abc", "ad"], ["parse", "print"]);
  const after = pictureOf(["abcdef", "a"], ["parse", "print"]);

  it("are compared by the largest intervals, which do not add up, and by what was new", () => {
    const diff = diffOf(before, after, "function");
    expect(rows(diff, "workingset")).toEqual(["parse:undefined 192 → 384", "print:undefined 128 → 64"]);
    expect(totals(diff)).toMatchObject({ workingset: { old: 192, new: 384 }, new: { old: 256, new: 384 } });
  });

  it("have no largest interval in common where intervals are of different length", () => {
    const longer = pictureOf(["a", "b"], ["parse", "parse"], 2000);
    expect(Object.keys(totals(diffOf(before, longer, "site")))).toEqual(["new"]);
  });
});

describe("findings of two runs", () => {
  const unused = (name: string, line: number): Finding => ({
    ...({ kind: "unused", tool: "heap", amount: 9, unit: "bytes", part: 0.5 } as const),
    blocks: 3,
    allocated: 3,
    place: { path: [{ function: name, file: "a.c", line }] },
  });

  it("are the same by kind and function, as often as there are such", () => {
    const diff = diffFindings(
      [unused("parse", 3), unused("load", 4)],
      [unused("parse", 5), unused("parse", 9)],
    );
    expect(diff).toEqual({
      new: [unused("parse", 9)],
      gone: [unused("load", 4)],
      kept: 1,
      renamed: new Map(),
    });
  });

  it("of several runs are those of most of them", () => {
    const [parse, load] = [unused("parse", 3), unused("load", 4)];
    expect(commonFindings([[parse, load], [parse], [parse, parse]])).toEqual([parse]);
    expect(commonFindings([[parse, load]])).toEqual([parse, load]);
    expect(commonFindings([[parse], [load]])).toEqual([]);
  });
});
