import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../../src/profile/model/heap-profile.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import {
  type HeapReportJsonOptions,
  heapReportJson as reportOf,
} from "../../../../src/show/report/json/heap-report.ts";
import {
  bounded,
  firstRows,
  jsonText,
  jsonTextPieces,
  RankedList,
} from "../../../../src/show/report/json/text.ts";
import { profileOfPicture, rawProfileOfPicture } from "../../../heap-picture.ts";
import { topJsonOf } from "../../../support/ranked.ts";
import { heapProfile } from "../arbitrary.ts";
import { DATABASE } from "../pictures.ts";

const heapReportJson = (profile: HeapProfile, options: HeapReportJsonOptions) =>
  [...jsonTextPieces(reportOf(profile, options))].join("");

const input = "memshade.out/app.1";
const top = { by: "bytes", rows: 3 } as const;
const documentation = fs.readFileSync(
  path.resolve(import.meta.dirname, "../../../../../../docs/report-json.md"),
  "utf8",
);

function keysOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(keysOf)];
}

describe("the report as JSON", () => {
  const json = JSON.parse(heapReportJson(profileOfPicture(DATABASE), { input }));

  it("names its schema and version", () => {
    expect(json).toMatchObject({ schema: "memshade-report", version: 2, input, program: "app" });
  });

  it("has MemProf's fields in camelCase and ours beside them, a site per call path", () => {
    const [site] = json.sites;
    expect(site).toMatchObject({
      stackIds: ["1"],
      allocCount: 2000,
      totalSize: 8_720_000,
      totalAccessCount: 1_800_000,
      liveBlocks: 3,
      liveBytes: 13_080,
      peakBytes: 7_848_000,
      granulesTouched: 900_000,
    });
    for (const { name } of MIB_FIELDS.filter((field) => field.name !== "accessHistogram"))
      expect(site[name], name).toBeTypeOf("number");
  });

  it("has stacks innermost first", () => {
    const [site] = json.sites;
    expect(site.stack.map((frame: { function: string }) => frame.function)).toEqual([
      "allocPage",
      "fetchPage",
      "nextRow",
      "run",
      "step",
      "exec",
      "main",
    ]);
    expect(site.stack[0]).toEqual({ function: "allocPage", index: 16, offset: 1808, module: "app.wasm" });
    expect(json.sites.at(-1).stack[0]).toMatchObject({ function: "malloc", calledByHost: true });
  });

  it("adds up: totals are the sums over its sites", () => {
    fc.assert(
      fc.property(heapProfile, (profile) => {
        const { totals, sites } = JSON.parse(heapReportJson(profile, { input }));
        const sum = (field: string) =>
          sites.reduce((total: number, site: Record<string, number>) => total + Number(site[field]), 0);
        expect(sum("allocCount")).toBe(totals.allocations);
        expect(sum("totalSize")).toBe(totals.allocatedBytes);
        expect(sum("totalAccessCount")).toBe(totals.heapAccesses);
        expect(sum("liveBytes")).toBe(totals.liveBytes);
        expect(sum("peakBytes")).toBe(totals.peakBytes);
      }),
    );
  });

  it("says what an analysis found, per call path", () => {
    expect(json.findings.leaks).toMatchObject({ blocks: 44, bytes: 80_216, atLeast: false });
    expect(json.findings.leaks.sites[0]).toEqual({ stackIds: ["6"], blocks: 1, bytes: 65_536 });
    expect(json.findings.temporary).toMatchObject({ blocks: 25_000, atLeast: true });
  });

  it("has null where a raw file alone does not know", () => {
    const raw = JSON.parse(heapReportJson(rawProfileOfPicture(DATABASE), { input }));
    expect(raw.totals).toMatchObject({ allocations: 130_216, peakBytes: null });
    expect(raw.findings).toMatchObject({
      leaks: null,
      writtenNeverRead: null,
      neverAccessed: { atLeast: true },
    });
    expect(raw.sites[0]).toMatchObject({ totalSize: 8_720_000, peakBytes: null });
  });

  it("has null where nobody counted accesses", () => {
    const profile = profileOfPicture(DATABASE);
    const description = { ...profile.description, counters: "none" as const };
    const { findings } = JSON.parse(heapReportJson({ ...profile, description }, { input }));
    expect(findings).toMatchObject({ neverAccessed: null, writtenNeverRead: null });
    expect(findings.leaks.blocks).toBe(44);
  });

  it("writes a u64 as text where a number would round it", () => {
    expect(jsonText({ small: 2n ** 53n - 1n, large: 2n ** 53n })).toBe(
      '{\n  "small": 9007199254740991,\n  "large": "9007199254740992"\n}\n',
    );
  });

  it("is the same text when its arrays are made while it is written", () => {
    const values = [{ a: 1n, b: [[], {}] }, "line\nbreak", null];
    const withArrays = (array: (items: readonly unknown[]) => unknown) => ({
      first: array(values),
      none: array([]),
      absent: undefined,
      deeper: { down: { list: array(values), nothing: {} } },
    });
    const pieces = jsonTextPieces(withArrays((items) => RankedList.of(items, (item) => item)));
    expect([...pieces].join("")).toBe(jsonText(withArrays((items) => items)));
    const many = Array.from({ length: 50_000 }, (_, index) => ({ index }));
    expect([...jsonTextPieces({ many: RankedList.of(many, (item) => item) })].length).toBeGreaterThan(10);
  });

  it("has the first rows of each ranking on request, and says how many it left out", () => {
    expect(json.omitted).toBeUndefined();
    const first = JSON.parse(jsonText(firstRows(reportOf(profileOfPicture(DATABASE), { input }), 2)));
    expect(first.sites).toEqual(json.sites.slice(0, 2));
    expect(first.omitted.sites).toBe(json.sites.length - 2);
    expect(first.modules).toEqual(json.modules);
  });

  it("is whole where it has room", () => {
    const report = reportOf(profileOfPicture(DATABASE), { input });
    expect(jsonText(bounded(report)).length).toBeLessThanOrEqual(65_536);
    expect(JSON.parse(jsonText(bounded({ few: [1, 2], rows: RankedList.of([3, 4], (row) => row) })))).toEqual(
      { few: [1, 2], rows: [3, 4] },
    );
  });

  it("has at most 64 KiB, whatever is in it, and counts the values that are left out", () => {
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ maxLength: 3000 }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constant(null),
        fc.array(fc.nat(), { maxLength: 9_000, size: "max" }),
        fc.array(tie("value"), { maxLength: 100 }),
        fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value")),
      ),
    })).value;
    fc.assert(
      fc.property(
        fc.array(anything, { maxLength: 50 }),
        fc.array(fc.record({ name: fc.string({ maxLength: 2000 }), stack: fc.array(anything) }), {
          maxLength: 200,
        }),
        (others, rows) => {
          const report = { others, rows: RankedList.of(rows, (row) => row) };
          const shorter = JSON.parse(jsonText(bounded(report)));
          expect(jsonText(bounded(report)).length).toBeLessThanOrEqual(65_536);
          expect(shorter.rows.length + (shorter.omitted?.rows ?? 0)).toBe(rows.length);
          expect(shorter.others.length + (shorter.omitted?.others ?? 0)).toBe(others.length);
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe("the ranking as JSON", () => {
  const json = topJsonOf({ heap: profileOfPicture(DATABASE) }, top);

  it("has ranked rows of combined sites", () => {
    expect(json).toMatchObject({
      schema: "memshade-top",
      version: 2,
      by: "bytes",
      unit: "bytes",
      rowsOmitted: 5,
    });
    expect(json.rows[0]).toMatchObject({ value: 10_464_000, allocCount: 2400, stackIds: ["1", "2"] });
    expect(json.rows[0].stack).toHaveLength(1);
    expect(json.rows[0].part).toBeCloseTo(10_464_000 / json.total);
  });

  it("has no parts of what does not add up", () => {
    const density = topJsonOf({ heap: profileOfPicture(DATABASE) }, { ...top, by: "density" });
    expect(density).toMatchObject({ unit: "accessesPerByte", total: null });
    expect(density.rows[0].part).toBeNull();
  });

  it("is unknown where the profile does not know the metric", () => {
    expect(topJsonOf({ heap: rawProfileOfPicture(DATABASE) }, { ...top, by: "peak" })).toBeUndefined();
  });
});

describe("the documentation of the JSON", () => {
  it("names every key that is written", () => {
    const profile = profileOfPicture(DATABASE, { end: { kind: "trap", message: "unreachable" } });
    const written = keysOf([
      JSON.parse(heapReportJson(profile, { input })),
      topJsonOf({ heap: profile }, top),
    ]);
    const words = new Set(
      [...documentation.matchAll(/`([\w.[\]-]+)`/g)].flatMap(([, code]) => code!.split(/[^\w-]+/)),
    );
    expect([...new Set(written)].filter((key) => !words.has(key))).toEqual([]);
  });
});
