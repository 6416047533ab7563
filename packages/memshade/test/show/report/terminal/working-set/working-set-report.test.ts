import { describe, expect, it } from "vitest";
import { findPhases } from "../../../../../src/explain/analyses/working-set.ts";
import { readWorkingSet } from "../../../../../src/profile/model/working-set/read-working-set.ts";
import { jsonText } from "../../../../../src/show/report/json/text.ts";
import { workingSetCsv } from "../../../../../src/show/report/json/working-set-csv.ts";
import { workingSetReportJson } from "../../../../../src/show/report/json/working-set-report.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { sparkline } from "../../../../../src/show/report/terminal/common/sparkline.ts";
import { workingSetReport } from "../../../../../src/show/report/terminal/working-set.ts";
import { reuseOfTrace } from "../../../../support/reuse-of-trace.ts";
import { pictureOf } from "../../working-set-picture.ts";

const LOAD = "abcdefghijklmnop";
const TWO_PHASES = pictureOf(
  [LOAD, LOAD, LOAD, LOAD, "a", "A", "a", "A"],
  ["parse", "parse", "parse", "read", "sum", "sum", "sum", "sum"],
);

describe("phases", () => {
  it("are intervals in a row of about one size, named after what most of them ran", () => {
    expect(findPhases(TWO_PHASES.instances[0])).toMatchObject([
      {
        first: 0,
        last: 3,
        start: 0,
        end: 4000,
        meanLines: 16,
        peakLines: 16,
        name: "parse",
        agreement: 0.75,
      },
      { first: 4, last: 7, start: 4000, end: 8000, meanLines: 1, peakLines: 1, name: "sum", agreement: 1 },
    ]);
  });

  it("end where the program does something else, also with a working set of the same size", () => {
    const { instances } = pictureOf(
      Array.from({ length: 30 }, () => LOAD),
      Array.from({ length: 30 }, (_, i) => (i < 10 ? "build" : i < 20 ? "query" : "write")),
    );
    expect(findPhases(instances[0]).map(({ first, last, name }) => [first, last, name])).toEqual([
      [0, 9, "build"],
      [10, 19, "query"],
      [20, 29, "write"],
    ]);
  });

  it("go on where a program does two things in turn", () => {
    const { instances } = pictureOf(
      Array.from({ length: 60 }, () => LOAD),
      Array.from({ length: 60 }, (_, i) => ((i * 7) % 5 < 2 ? "update" : "render")),
    );
    expect(findPhases(instances[0])).toMatchObject([{ first: 0, last: 59, name: "render", agreement: 0.6 }]);
  });

  it("are named after the outermost function that most others do not go through", () => {
    const { instances } = pictureOf(
      [LOAD, LOAD, LOAD, "a", "a", "a"],
      ["load", "load", "load", "format", "format", "copy"],
    );
    const [instance] = instances;
    const frame = (number: number, name: string) => ({ function: number, offset: number, name });
    const main = frame(0, "main");
    const [load, write] = [frame(1, "load"), frame(2, "write")];
    const stacks = [
      [frame(3, "read"), load, main],
      [frame(4, "format"), write, main],
      [frame(5, "copy"), write, main],
    ];
    expect(findPhases({ ...instance, stacks })).toMatchObject([
      { first: 0, last: 2, name: "load", agreement: 1, stack: 0 },
      { first: 3, last: 5, name: "write", agreement: 1, stack: 1 },
    ]);
  });

  it("of functions without a name have their index, as everywhere", () => {
    const [instance] = pictureOf([LOAD, LOAD, LOAD, LOAD], ["parse", "parse", "parse", "parse"]).instances;
    const stacks = instance.stacks.map((stack) => stack.map(({ name: _, ...frame }) => frame));
    expect(findPhases({ ...instance, stacks })).toMatchObject([{ first: 0, last: 3, name: "func[1]" }]);
  });

  it("have none of an interval that the end of the run cuts short, and that has less for that alone", () => {
    const named = (last: string) => {
      const [instance] = pictureOf([LOAD, LOAD, "ab", "ab", "ab", last]).instances;
      instance.levels[0].lastIsPartial = true;
      return findPhases(instance).map(({ first, last, end }) => [first, last, end]);
    };
    expect(named("")).toEqual([
      [0, 1, 2000],
      [2, 5, 6000],
    ]);
    // The last interval has more lines than the phase before, so it is a phase of its own although it was cut short.
    expect(named("abcdefghi")).toEqual([
      [0, 1, 2000],
      [2, 4, 5000],
      [5, 5, 6000],
    ]);
  });

  it("cover every interval once, whatever the sizes", () => {
    const sizes = Array.from({ length: 60 }, (_, i) => LOAD.slice(0, (i * 7) % 17));
    const phases = findPhases(pictureOf(sizes).instances[0]);
    expect(phases.length).toBeLessThanOrEqual(12);
    expect(phases[0].first).toBe(0);
    expect(phases.at(-1)?.last).toBe(59);
    for (let i = 1; i < phases.length; i++) expect(phases[i].first).toBe(phases[i - 1].last + 1);
  });
});

describe("a sparkline", () => {
  it("is full at the largest value and empty at zero", () => {
    expect(sparkline([0, 1, 4, 8], 10)).toBe(" ▁▄█");
  });

  it("draws groups by their largest value", () => {
    expect(sparkline([1, 8, 1, 1, 4, 1], 3)).toBe("█▁▄");
    expect(sparkline([], 3)).toBe("");
    expect(sparkline([0, 0], 3)).toBe("  ");
  });
});

describe("the working set's report", () => {
  it("fits 80 columns where a run was stopped in the middle", () => {
    const profile = structuredClone(TWO_PHASES);
    profile.instances[0].incomplete = true;
    const options = { paint: createPaint(false), width: 80, isWide: false, rows: undefined, input: "run" };
    const lines = workingSetReport(profile, options).split("\n");
    expect(lines.filter((line) => line.endsWith(" incomplete"))).toHaveLength(1);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("shows the timeline, phases and scales in 80 columns", () => {
    const text = workingSetReport(TWO_PHASES, {
      paint: createPaint(false),
      width: 80,
      isWide: false,
      rows: undefined,
      input: "run",
    });
    expect(text).toContain("  ████▁▁▁▁\n");
    expect(text).toMatch(/0 – 4,000 +1\.00 KiB .*peak 1\.00 KiB +in parse \(75\.0 %\)/);
    expect(text).toMatch(/4,000 – 8,000 +64 B .*in sum/);
    expect(text).toMatch(/8 intervals +mean +544 B +largest +1\.00 KiB/);
  });
});

describe("the CSV", () => {
  it("has a line per interval and scale", () => {
    const lines = workingSetCsv(TWO_PHASES).trimEnd().split("\n");
    expect(lines[0]).toMatch(
      /^instance,module,factor,interval,unit,start,end,bytes,lines,read,written,both,/,
    );
    expect(lines.length).toBe(1 + 8 + 2 + 1);
    expect(lines[1]).toMatch(/^0,program\.wasm,1,0,accesses,0,1000,1024,16,16,0,0,/);
    expect(lines[6]).toMatch(/^0,program\.wasm,1,5,accesses,5000,6000,64,1,0,1,0,/);
  });

  it("quotes names that would break it or be taken for a formula", () => {
    const profile = pictureOf(["a"]);
    profile.modules[0].name = '=cmd,"x"';
    expect(workingSetCsv(profile).split("\n")[1]).toContain('"\'=cmd,""x"""');
  });
});

describe("locality", () => {
  const sweeps = Array.from({ length: 10_000 }, (_, reference) => reference % 1000);
  const { references, lines, times, distances, firsts, lasts } = reuseOfTrace(sweeps);
  const profile = pictureOf(["ab", "a"]);
  profile.instances[0].locality = {
    method: "shards",
    references,
    sampled: references,
    rate: 1,
    cold: lines,
    distances: distances.entries(),
    times: times.entries(),
    firsts: firsts.entries(),
    lasts: lasts.entries(),
    sites: [
      {
        frame: { function: 3, offset: 0x123, name: "sweep(char*)" },
        file: "/src/sweep.c",
        line: 7,
        references: 10_000,
        misses: 10_000,
        cold: 1000,
      },
      {
        frame: { function: 4, offset: 0x200, name: "quiet" },
        file: "/src/sweep.c",
        line: 9,
        references: 50,
        misses: 0,
        cold: 0,
      },
    ],
    otherSites: { sites: 3, misses: 0 },
    sitesAtLines: 512,
  };

  it("is shown as curves, common caches and the instructions that miss", () => {
    const paint = createPaint(false);
    const text = workingSetReport(profile, {
      paint,
      width: 80,
      isWide: false,
      rows: undefined,
      input: "run",
    });
    expect(text).toContain("Locality\n10,000 references to 1,000 lines; SHARDS, 100 %: 10,000 references");
    expect(text).toMatch(
      /\nmisses of fully associative LRU caches, [\d.]+ (?:Ki)?B to [\d.]+ KiB: 100 % to 10\.0 %\n/,
    );
    expect(text).toMatch(/L1 32 KiB .* 100 % /);
    expect(text).toMatch(/L1 128 KiB .* 10\.0 % /);
    expect(text).toMatch(/Most misses of a cache of 32\.0 KiB/);
    expect(text).toMatch(/10,000 {3}100 % {4}1,000 {2}sweep\(char\*\) sweep\.c:7/);
    expect(text).not.toMatch(/quiet|more instruction/);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("is in the JSON report, with units", () => {
    const [{ curves }] = JSON.parse(jsonText(workingSetReportJson(profile, "run"))).instances;
    expect(curves).toMatchObject({ method: "SHARDS", rate: 1, references: 10_000, lines: 1000 });
    const at = (lines: number) => curves.missRatio.find((point: { lines: number }) => point.lines === lines);
    expect(at(512)).toEqual({ lines: 512, bytes: 32_768, missRatio: 1 });
    expect(at(1024)).toEqual({ lines: 1024, bytes: 65_536, missRatio: 0.1 });
    expect(curves.footprint[0]).toEqual({ references: 1024, lines: 1000 });
    expect(curves.sites.rows).toMatchObject([
      { function: "sweep(char*)", line: 7, misses: 10_000, part: 1 },
      { function: "quiet", line: 9, misses: 0, part: 0 },
    ]);
  });

  it("is read as it was written, and damage is told", () => {
    expect(readWorkingSet(JSON.stringify(profile))).toEqual(profile);
    const damaged = JSON.parse(JSON.stringify(profile));
    damaged.instances[0].locality.method = "guess";
    expect(() => readWorkingSet(JSON.stringify(damaged))).toThrow(/locality\.method should be "shards"/);
  });
});

describe("workingset.json", () => {
  it("is read as it was written", () => {
    expect(readWorkingSet(JSON.stringify(TWO_PHASES))).toEqual(TWO_PHASES);
  });

  it("is what the JSON report says, with phases", () => {
    const report = JSON.parse(jsonText(workingSetReportJson(TWO_PHASES, "run")));
    expect(report).toMatchObject({ report: "working-set", version: 2, unit: "accesses", lineBytes: 64 });
    expect(report.instances[0].phases).toHaveLength(2);
    expect(report.instances[0].levels[0].counts.lines).toEqual([16, 16, 16, 16, 1, 1, 1, 1]);
  });

  it.each([
    ["", /not JSON/],
    ["[]", /not a memshade-working-set file/],
    ['{"schema":"memshade-working-set","version":9}', /version 9 .* is not known, only 1/],
    [JSON.stringify({ ...TWO_PHASES, unit: "days" }), /unit should be "accesses" or "wall" or "cpu"/],
    [JSON.stringify({ ...TWO_PHASES, instances: [{}] }), /instances\[0\]\.module should be a count/],
  ])("of %j is refused in one line", (text, message) => {
    expect(() => readWorkingSet(text)).toThrow(message);
  });

  it("whose columns differ in length is refused", () => {
    const damaged = structuredClone(TWO_PHASES);
    damaged.instances[0].levels[0].fresh.pop();
    expect(() => readWorkingSet(JSON.stringify(damaged))).toThrow(/different lengths/);
  });
});

describe("the heading", () => {
  it("is no wider than the screen, however long the command is", () => {
    const profile = {
      ...TWO_PHASES,
      command: ["/a/long/way/to/the/program.wasm", ..."abcdefghijklmnopqrstuvwxyz"],
    };
    const headingOf = (isWide: boolean) =>
      workingSetReport(profile, {
        paint: createPaint(false),
        width: 60,
        isWide,
        rows: 4,
        input: "run",
      }).split("\n")[0];
    expect(headingOf(false)).toHaveLength(60);
    expect(headingOf(true)).toBe(`Working set of ${profile.command.join(" ")}`);
  });
});
