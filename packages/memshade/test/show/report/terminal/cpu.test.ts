import { describe, expect, it } from "vitest";
import { hotPlaces } from "../../../../src/explain/analyses/cpu.ts";
import { cpuReportJson } from "../../../../src/show/report/json/cpu-report.ts";
import { firstRows, jsonText } from "../../../../src/show/report/json/text.ts";
import { createPaint } from "../../../../src/show/report/terminal/common/paint.ts";
import { cpuReport } from "../../../../src/show/report/terminal/cpu.ts";
import { cpuPictureOf } from "../cpu-picture.ts";

const SCREEN = { paint: createPaint(false), width: 80, isWide: false, input: "run" };
const PROFILE = cpuPictureOf({
  app: ["SORT QSORT rank:7 main:3", "SORT QSORT rank:7 main:3", "rank:8 main:3", "rank:7 again:5 main:4"],
  "worker-1": ["load:20 START", "load:20 START"],
});

describe("hot places", () => {
  it("are lines of the program's own code, with the library's time, and the hottest way there", () => {
    const { frames } = PROFILE.samples;
    const places = hotPlaces(PROFILE.samples, 0).map(({ frame, via, ...place }) => ({
      ...place,
      at: `${frames[frame]!.function}:${frames[frame]!.line}`,
      via: frames[via]?.function,
      path: place.path.map((one) => frames[one]!.function),
    }));
    expect(places).toEqual([
      { at: "rank:7", value: 3, paths: 2, path: ["rank", "main"], via: "QSORT" },
      { at: "load:20", value: 2, paths: 1, path: ["load", "START"], via: undefined },
      { at: "rank:8", value: 1, paths: 1, path: ["rank", "main"], via: undefined },
    ]);
  });
});

describe("the report on CPU time", () => {
  it("shows who takes it: threads, lines, functions", () => {
    expect(cpuReport(PROFILE, SCREEN)).toBe(
      [
        "CPU time of app",
        "./app -v",
        "",
        "  Samples     6 in 0.01 s, 100 per second of CPU time: 0.06 s",
        "  Threads     app 66.7 %, worker-1 33.3 %",
        "",
        "Where the CPU time goes                       3 places of the program's own code",
        "  50.0 %   0.03 s  rank  app.c:7, in QSORT",
        "                   of 2 paths ← main (app.c:3)",
        "  33.3 %   0.02 s  load  app.c:20",
        "  16.7 %   0.01 s  rank  app.c:8",
        "                   ← main (app.c:3)",
        "",
        "Functions                                  themselves, and with what they called",
        "    self    total",
        "  33.3 %   66.7 %  rank [app]",
        "  33.3 %   33.3 %  SORT [app]",
        "  33.3 %   33.3 %  load [app]",
        "     0 %   66.7 %  main [app]",
        "     0 %   33.3 %  QSORT [app]",
        "     0 %   33.3 %  START [app]",
        "     0 %   16.7 %  again [app]",
        "",
      ].join("\n"),
    );
  });

  it("says what is missing before everything else, and how many stacks are cut", () => {
    const text = cpuReport({ ...PROFILE, endedEarly: 3, notTracked: ["3 stacks ended early."] }, SCREEN);
    expect(text).toMatch(/^CPU time of app\n.*\n\n! Read this first\n {2}· 3 stacks ended early\./);
    expect(text).toContain("  Stacks      50.0 % of the samples have no whole call path\n");
  });

  it("has a twin in JSON, with the same figures", () => {
    const report = JSON.parse(jsonText(firstRows(cpuReportJson(PROFILE, { input: "run" }), 1)));
    expect(report).toMatchObject({
      report: "cpu",
      version: 2,
      program: "app",
      totals: { samples: 6, hz: 100, cpuMs: 60, lost: 0, own: 0, endedEarly: 0 },
      threads: [
        { name: "app", threads: 1, cpuMs: 40 },
        { name: "worker-1", threads: 1, cpuMs: 20 },
      ],
      functions: [{ function: "rank", module: "app", selfMs: 20, totalMs: 40 }],
    });
    expect(report.places).toHaveLength(1);
    expect(report.places[0]).toMatchObject({
      cpuMs: 30,
      paths: 2,
      place: { function: "rank", line: 7 },
      via: { function: "QSORT" },
      callers: [{ function: "main", line: 3 }],
    });
  });

  it("is short where nothing was sampled", () => {
    expect(cpuReport(cpuPictureOf({}), SCREEN)).toBe(
      "CPU time of app\n./app -v\n\n  Samples     0, 100 per second of CPU time: 0.00 s\n",
    );
  });
});
