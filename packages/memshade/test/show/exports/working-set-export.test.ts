import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Attribution, WorkingSetProfile } from "../../../src/profile/model/working-set/working-set.ts";
import { exportedTool, writeStacks, writeTrace } from "../../../src/show/exports/export-formats.ts";
import { wholeAmounts } from "../../../src/show/exports/samples.ts";
import { jsonText } from "../../../src/show/report/json/text.ts";
import { workingSetReportJson } from "../../../src/show/report/json/working-set-report.ts";
import { pictureOf } from "../report/working-set-picture.ts";
import { contentOf, readStacks, sumsOf } from "./readers.ts";

type StackFormat = Parameters<typeof writeStacks>[0];

function exported(profile: WorkingSetProfile, format: StackFormat, by?: string) {
  const recorded = { tool: "workingset", profile } as const;
  const tool = exportedTool(recorded);
  const index = by === undefined ? tool.shown : tool.weights.findIndex(({ key }) => key === by);
  return readStacks(format, contentOf(writeStacks(format, recorded, tool, index)));
}

const PLAIN = pictureOf(["ab", "a", "cde", "a"], ["read", "read", "parse", "write"]);
const OWNERS: Attribution = {
  contexts: [
    {
      kind: "code",
      stack: [{ function: 3, offset: 99, name: "make", file: "src/make.c", line: 5 }],
      total: 2.515,
      mean: 1,
      peak: 2,
    },
    { kind: "static", stack: [], total: 1.3, mean: 1, peak: 1 },
  ],
  otherContexts: { contexts: 2, total: 1.185 },
  levels: [],
};
const WHOLE: WorkingSetProfile = {
  ...PLAIN,
  instances: [
    {
      ...PLAIN.instances[0]!,
      owners: OWNERS,
      locality: {
        method: "shards",
        references: 100,
        sampled: 10,
        rate: 0.1,
        cold: 5,
        distances: [],
        times: [],
        firsts: [],
        lasts: [],
        sitesAtLines: 512,
        sites: [
          {
            frame: { function: 1, offset: 8, name: "read" },
            file: "src/read.c",
            line: 2,
            references: 9,
            misses: 4,
            cold: 3,
          },
          { references: 1, misses: 1, cold: 1 },
        ],
        otherSites: { sites: 1, misses: 2 },
      },
    },
  ],
};

describe("a working set in files of other viewers", () => {
  it("has the lines of the run by the call that was going on when they were new", () => {
    const { instances } = JSON.parse(jsonText(workingSetReportJson(PLAIN, "run")));
    const read = exported(PLAIN, "pprof");
    expect(sumsOf(read)).toMatchObject({ new_space: 64 * instances[0].total.lines });
    expect(read.new_space!.filter(({ weight }) => weight > 0)).toEqual([
      { frames: ["main", "read"], weight: 128 },
      { frames: ["main", "parse"], weight: 192 },
    ]);
  });

  it.each(["pprof", "firefox", "speedscope"] as const)("keeps what each weight adds up to (%s)", (format) => {
    expect(sumsOf(exported(WHOLE, format))).toMatchObject({
      cold_misses: 50,
      misses: 70,
      owned_space: 5 * 64,
      new_space: 5 * 64,
    });
  });

  it("has stacks of its own for each weight, with lines", () => {
    const { owned_space: owned, misses } = exported(WHOLE, "pprof");
    const there = (stacks: typeof owned) => stacks!.filter(({ weight }) => weight > 0);
    expect(there(owned)).toEqual([
      { frames: ["make src/make.c:5"], weight: 161 },
      { frames: ["[static data]"], weight: 83 },
      { frames: ["[in no context]"], weight: 76 },
    ]);
    expect(there(misses)).toEqual([
      { frames: ["read src/read.c:2"], weight: 40 },
      { frames: ["[bulk instructions]"], weight: 10 },
      { frames: ["[in no context]"], weight: 20 },
    ]);
  });

  it("counts lines beside the bytes in DHAT", () => {
    expect(sumsOf(exported(PLAIN, "dhat", "new"))).toEqual({ tb: 320, tbk: 5 });
  });

  it("makes whole numbers of fractions without changing their sum", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true })), (amounts) => {
        const whole = wholeAmounts(amounts);
        const sum = amounts.reduce((total, amount) => total + amount, 0);
        expect(whole.reduce((total, amount) => total + amount, 0)).toBe(Math.round(sum));
        for (const [i, amount] of amounts.entries())
          expect(Math.abs(whole[i]! - amount)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("is a counter per measure, which holds to the end of each interval", () => {
    const { traceEvents } = JSON.parse(
      contentOf(writeTrace("run", [{ tool: "workingset", profile: PLAIN }])).toString(),
    );
    const lines = traceEvents.filter(({ name }: { name: string }) => name === "working set");
    expect(traceEvents[0]).toMatchObject({ ph: "M", name: "process_name", pid: 1 });
    expect(traceEvents[0].args.name).toBe("working set of program.wasm, 1 µs = 1 access");
    expect(lines.map(({ ts, args }: { ts: number; args: { bytes: number } }) => [ts, args.bytes])).toEqual([
      [0, 128],
      [1000, 64],
      [2000, 192],
      [3000, 64],
      [4000, 64],
    ]);
    for (const { name, ph, args } of traceEvents)
      if (ph === "C") expect(name, Object.keys(args).join()).toMatch(/^(working set(: \w+)?|new lines)$/);
  });
});
