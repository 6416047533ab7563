import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUPINGS } from "../../../../../src/explain/analyses/groups.ts";
import { staticsReport } from "../../../../../src/explain/analyses/statics.ts";
import { rankPairs } from "../../../../../src/explain/analyses/waste.ts";
import { measuresOfTool } from "../../../../../src/explain/measures/index.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { pairTable } from "../../../../../src/show/report/terminal/common/top-table.ts";
import { load, store, wasteOf } from "../../../../explain/analyses/waste/waste-picture.ts";
import { profileOfPicture, rawProfileOfPicture, reachOfPicture } from "../../../../heap-picture.ts";
import { someObjects } from "../../../../objects-picture.ts";
import { expectFits } from "../../../../support/expect-fits.ts";
import { type Asked, topJsonOf, topOf } from "../../../../support/ranked.ts";
import { statics as staticsPicture, variable } from "../../../../support/statics-picture.ts";
import { heapProfile } from "../../arbitrary.ts";
import { DATABASE } from "../../pictures.ts";

/** Measures of profiles without a search for pointers, and without reads and writes told apart. */
const KNOWN = measuresOfTool("heap").filter(({ isMain, id }) => isMain === true && id !== "lost");
const golden = (name: string) => path.resolve(import.meta.dirname, `../../golden/${name}.txt`);

describe("the ranking", () => {
  const profile = profileOfPicture(DATABASE);
  const top = (asked: Partial<Asked>) => topOf({ heap: profile }, { by: "bytes", ...asked });

  it("has a line per site", async () => {
    await expect(top({})).toMatchFileSnapshot(golden("top-bytes"));
  });

  it("keeps its columns apart, whatever the unit of its clock is", () => {
    const description = { ...profile.description, clock: { kind: "virtual", unit: "instructions" } as const };
    const table = topOf({ heap: { ...profile, description } }, { by: "bytes" });
    expect(table).toMatch(/^ {2}64.0 KiB +0.3 % +1 350,000 instructions +0 {2}newConfig$/m);
  });

  it("by any key: the other columns change with it", async () => {
    const tables = KNOWN.map(({ id }) => top({ by: id, rows: 2 }));
    await expect(tables.join("\n")).toMatchFileSnapshot(golden("top-by-all"));
  });

  it("of call paths has their callers, smallest first on request", async () => {
    const table = top({ by: "lifetime", group: "path", order: "smallest", rows: 4 });
    await expect(table).toMatchFileSnapshot(golden("top-paths-reverse"));
  });

  it("by what is lost, where that was looked for", () => {
    const picture = `
      main > push   100 x 8   peak 100  live 100  lost 1  indirect 99  behind 99
      main > table   10 x 64  peak 10   live 10   reachable 10
    `;
    const heap = profileOfPicture(picture, {}, { reach: reachOfPicture(picture) });
    const table = topOf({ heap }, { by: "lost" });
    expect(table).toMatch(/^Most bytes lost at the end +800 B in 1 site\n/);
    expect(topOf({ heap: profileOfPicture(picture) }, { by: "lost" })).toBeUndefined();
  });

  it("says when nothing has a part in it", () => {
    const tidy = profileOfPicture("main > parse  3 x 8  life 9");
    expect(topOf({ heap: tidy }, { by: "left" })).toContain(
      "Nothing to rank: no site has bytes live at the end.",
    );
  });

  it("by peak or what is left is unknown for a raw file alone", () => {
    const raw = rawProfileOfPicture(DATABASE);
    expect(topOf({ heap: raw }, { by: "peak" })).toBeUndefined();
    expect(topOf({ heap: raw }, { by: "blocks" })).toContain("90,000");
  });

  it("has lines of at most 80 columns but for longer names, whatever is in the profile", () => {
    const key = fc.constantFrom(...KNOWN.map(({ id }) => id));
    fc.assert(
      fc.property(
        heapProfile,
        key,
        fc.constantFrom(...GROUPINGS),
        fc.boolean(),
        (any, by, group, reverse) => {
          const order = reverse ? "smallest" : "largest";
          for (const line of topOf({ heap: any }, { by, group, order })!.split("\n")) {
            expectFits(line);
            expect(line).not.toMatch(/\p{Cc}|\s$/u);
          }
        },
      ),
    );
  });
});

describe("the ranking of static data", () => {
  const statics = staticsReport(
    staticsPicture({ 1024: [980, -10], 1152: [9], 1280: [-1] }, [
      variable("crc_table", 1024, 64),
      variable("log", 1280, 8, { file: undefined, line: 0 }),
      variable("never", 1408, 3712),
    ]),
  );

  it("goes by accesses or by bytes that nobody reads, either way round", () => {
    const most = topOf({ statics }, { by: "unread-data", rows: 1 });
    expect(most).toMatch(/^Most static data never read {2,}[\d.]+ KiB in \d variables\n/);
    expect(most).toMatch(/\n {2}3\.63 KiB .* never \(crc\.c:12\) untouched\n/);
    expect(most).toMatch(/… and \d more variables with .*: -n N shows them/);
    expect(topOf({ statics }, { by: "static-accesses", order: "smallest", rows: 1 })).toMatch(
      /\n {9}1 .* log \S+ unread\n/,
    );
  });

  it("says where counts are lower bounds", () => {
    const full = staticsReport(staticsPicture({ 1024: [2 ** 31 - 1] }, [], { wrapsAt: 2 ** 31 - 1 }));
    expect(topOf({ statics: full }, { by: "static-accesses" })).toContain("amounts are at least these");
  });

  it("is JSON with all that is known of each", () => {
    const json = topJsonOf({ statics }, { by: "static-accesses", rows: 1 });
    expect(json).toMatchObject({ by: "static-accesses", unit: "accesses", total: 1000, rowsOmitted: 2 });
    expect(json.rows).toMatchObject([
      {
        value: 990,
        part: 0.99,
        beside: { "static-bytes": 64 },
        module: 0,
        kind: "variable",
        name: "crc_table",
        use: "hot",
        untouchedBytes: 48,
        unreadBytes: 8,
        file: "/src/crc.c",
        line: 12,
        address: "0x400",
      },
    ]);
  });
});

describe("the ranking of places that make objects", () => {
  const profiles = { objects: someObjects() };

  it("has their type, and what is in use as an estimate", () => {
    const text = topOf(profiles, { by: "object-bytes" })!;
    expect(text).toContain("Most bytes of objects allocated (modelled sizes)");
    expect(text).toMatch(/15\.6 KiB +79\.5 % +1,000 +≈7\.81 KiB {2}make \(tree\.kt:7\) Node/);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("has their callers by path, and no type by function", () => {
    expect(topOf(profiles, { by: "object-bytes", group: "path" })).toMatch(/Node\n +← main/);
    expect(topOf(profiles, { by: "object-bytes", group: "function" })).toMatch(/ make\n/);
  });

  it("can go by what is in use, and the other way round", () => {
    const text = topOf(profiles, { by: "in-use", order: "smallest" });
    expect(text).toMatch(/Least bytes of objects in use at the end \(an estimate\) +≈7\.81 KiB in 1 site/);
  });

  it("says the same as JSON", () => {
    const { rows, isEstimate } = topJsonOf(profiles, { by: "objects-in-use" });
    expect(rows[0]).toMatchObject({
      value: 8000,
      beside: { "object-bytes": 16_000, objects: 1000 },
      type: "Node",
      place: { line: 7 },
    });
    expect(isEstimate).toBe(true);
  });
});

describe("the ranking of waste", () => {
  const ips = (name: string, line: number, ...callers: string[]) => [
    { address: line, function: name, file: `src/${name}.c`, line },
    ...callers.map((caller, at) => ({ address: 1000 + at, function: caller, file: "btree.c", line: at + 1 })),
  ];

  it("has the part of all and of the place's own", () => {
    const waste = wasteOf({
      stores: [
        store("parse", 88, { nof_stores: 100, bytes_written: 409_600, dead_overwritten: 401_408 }),
        store("fill", 5, { nof_stores: 100, bytes_written: 16_484, dead_overwritten: 16_384 }),
      ],
    });
    const text = topOf({ waste }, { by: "dead", rows: 1 });
    expect(text).toMatch(/392 KiB +96\.1 % +98\.0 % +100 {2}parse \(parse\.c:88\)/);
    expect(text).toContain("and 1 more site with 16.0 KiB: -n N shows them");
    expect(topOf({ waste: wasteOf({}) }, { by: "silent" })).toContain(
      "Nothing to rank: no site has silent stores.",
    );
  });

  it("tells what redundant loads find", () => {
    const loads = [
      load("walk", 3, {
        nof_loads: 1000,
        nof_silent: 900,
        values: [
          { value: "4294967295.25", loads: 500, exact: true },
          { value: "-1234567890123", loads: 300, exact: false },
          { value: "7", loads: 2, exact: true },
        ],
      }),
    ];
    const text = topOf({ waste: wasteOf({ loads }) }, { by: "redundant" })!;
    expect(text.replace(/\s+/g, " ")).toContain("55.6 % find 4294967295.25, ≥ 33.3 % find -1234567890123");
    expect(text).not.toContain("find 7");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("of call paths has the callers that fit on a line, and all of them on a wide screen", () => {
    const dead = { nof_stores: 9, bytes_written: 4096, dead_overwritten: 4096 };
    const callers = ["read", "moveToRoot", "first", "exec", "main", "_start"];
    const waste = wasteOf({ stores: [{ ...store("", 3, dead), ips: ips("fill", 3, ...callers) }] });
    const lines = (isWide: boolean) =>
      topOf({ waste }, { by: "dead", group: "path", isWide })!
        .split("\n")
        .filter((line) => line.includes("←"))
        .map((line) => line.trim());
    expect(lines(false)).toHaveLength(1);
    expect(lines(false)[0]).toMatch(/^← .*… \d more ← _start \(btree\.c:6\)$/);
    expect(lines(true)).toEqual([callers.map((name, at) => `← ${name} (btree.c:${at + 1})`).join(" ")]);
  });

  it("of pairs has both places, and callers of both once", () => {
    const waste = wasteOf({
      stores: [
        { ...store("", 88, {}), ips: ips("clear", 88, "main") },
        { ...store("", 12, {}), ips: ips("decode", 12, "main") },
      ],
      pairs: [{ kind: "overwritten", first: 0, second: 1, bytes: 4096, operations: 4 }],
    });
    const screen = { paint: createPaint(false), width: 80, isWide: false, rows: 5 };
    const text = pairTable("Dead stores and what ended them", rankPairs(waste, "dead"), [], screen);
    expect(text).toMatch(/4\.00 KiB +100 % +100 % +4 {2}clear \(clear\.c:88\)\n/);
    expect(text).toContain("    overwritten by    decode (decode.c:12)\n");
    expect(text).toContain("    both called from  main (btree.c:1)\n");
    expect(text.match(/main \(btree\.c:1\)/g)).toHaveLength(1);
  });
});
