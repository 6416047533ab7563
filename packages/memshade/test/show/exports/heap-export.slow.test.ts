import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readDhat } from "../../../src/profile/formats/dhat.ts";
import { readPprof } from "../../../src/profile/formats/pprof/read-pprof.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { chooseWeight } from "../../../src/show/exports/choose-weight.ts";
import { exportedTool, writeStacks } from "../../../src/show/exports/export-formats.ts";
import { heapReportJson } from "../../../src/show/report/json/heap-report.ts";
import { jsonText } from "../../../src/show/report/json/text.ts";
import { profileOfPicture, rawProfileOfPicture, reachOfPicture } from "../../heap-picture.ts";
import { heapProfile } from "../report/arbitrary.ts";
import { contentOf, type ReadFile, readStacks, sumsOf } from "./readers.ts";

type StackFormat = Parameters<typeof writeStacks>[0];

function exported(profile: HeapProfile, format: StackFormat, by?: string): ReadFile {
  const recorded = { tool: "heap", profile } as const;
  const tool = exportedTool(recorded);
  const index = by === undefined ? tool.shown : tool.weights.findIndex(({ key }) => key === by);
  return readStacks(format, contentOf(writeStacks(format, recorded, tool, index)));
}

function sumsOfReport(profile: HeapProfile): Record<string, number> {
  const { sites } = JSON.parse(jsonText(heapReportJson(profile, { input: "run" })));
  const sum = (of: (site: Record<string, number>) => number | null): number | undefined =>
    sites.some((site: Record<string, number>) => of(site) === null)
      ? undefined
      : sites.reduce((total: number, site: Record<string, number>) => total + of(site)!, 0);
  // biome-ignore lint/suspicious/noExplicitAny: objects inside of a site
  const inside = (name: string, field: string) => sum((site: any) => site[name]?.[field] ?? null);
  const sums = {
    alloc_objects: sum((site) => site.allocCount!),
    alloc_space: sum((site) => site.totalSize!),
    accesses: sum((site) => site.totalAccessCount!),
    lifetimes: sum((site) => site.totalLifetime!),
    temporary_objects: sum((site) => site.temporaryBlocks!),
    unused_space: sum((site) => site.neverAccessedBytes!),
    unread_space: sum((site) => site.writtenNeverReadBytes!),
    copied_space: inside("growth", "copiedBytes"),
    spare_space: inside("capacity", "unusedBytes"),
    lost_objects: sum(({ lostBlocks, indirectlyLostBlocks }) =>
      lostBlocks === null ? null : lostBlocks! + indirectlyLostBlocks!,
    ),
    lost_space: sum(({ lostBytes, indirectlyLostBytes }) =>
      lostBytes === null ? null : lostBytes! + indirectlyLostBytes!,
    ),
    peak_objects: sum((site) => site.peakBlocks!),
    peak_space: sum((site) => site.peakBytes!),
    inuse_objects: sum((site) => site.liveBlocks!),
    inuse_space: sum((site) => site.liveBytes!),
  };
  return Object.fromEntries(
    Object.entries(sums).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}

const PICTURE = `
  main > parse > node    100 x 64   life 1    access 6  peak 40  live 3  lost 2  reachable 1
  main > parse > node@2   10 x 32   life 9    access 1  peak 10
  main > cache             8 x 4096 life 900  access 10 peak 8   live 2  reachable 2  unread 1
  -                        3 x 10   life 2`;
const DRAWN = profileOfPicture(PICTURE, {}, { reach: reachOfPicture(PICTURE) });

describe("the heap in files of other viewers", () => {
  it.each(["pprof", "firefox"] as const)("keeps the sum of each weight (%s)", (format) => {
    expect(sumsOf(exported(DRAWN, format))).toEqual(sumsOfReport(DRAWN));
    fc.assert(
      fc.property(heapProfile, (profile) => {
        expect(sumsOf(exported(profile, format))).toEqual(
          profile.contexts.length === 0 ? expect.anything() : sumsOfReport(profile),
        );
      }),
      { numRuns: 30 },
    );
  });

  it("keeps the sums in speedscope, which has no stacks without weight", () => {
    fc.assert(
      fc.property(heapProfile, (profile) => {
        const sums = profile.contexts.length === 0 ? {} : sumsOfReport(profile);
        for (const [name, sum] of Object.entries(sums))
          expect(sumsOf(exported(profile, "speedscope"))[name]).toBe(sum);
      }),
      { numRuns: 30 },
    );
  });

  it.each(["folded", "heapprofile"] as const)("keeps the sum of the requested weight (%s)", (format) => {
    fc.assert(
      fc.property(
        heapProfile,
        fc.constantFrom(
          ["bytes", "alloc_space"] as const,
          ["peak", "peak_space"] as const,
          ["left", "inuse_space"] as const,
        ),
        (profile, [by, type]) => {
          if (profile.contexts.length === 0) return;
          expect(sumsOf(exported(profile, format, by)).weight).toBe(sumsOfReport(profile)[type]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("keeps the sums of all DHAT figures, in program points that its viewer accepts", () => {
    fc.assert(
      fc.property(heapProfile, (profile) => {
        if (profile.contexts.length === 0) return;
        const sums = sumsOf(exported(profile, "dhat"));
        const report = sumsOfReport(profile);
        expect([sums.tb, sums.tbk]).toEqual([report.alloc_space, report.alloc_objects]);
        expect([sums.gb, sums.gbk]).toEqual([report.peak_space, report.peak_objects]);
        expect([sums.eb, sums.ebk]).toEqual([report.inuse_space, report.inuse_objects]);
      }),
      { numRuns: 30 },
    );
  });

  it("has the same stacks in every format", () => {
    const expected = ["main > cache : 32768", "main > parse > node : 2560", "main > parse > node : 320"];
    for (const format of ["pprof", "firefox", "speedscope", "heapprofile"] as const) {
      const file = exported(DRAWN, format);
      const stacks = (file.peak_space ?? file.weight)!.filter(({ weight }) => weight > 0);
      expect(stacks.map(({ frames, weight }) => `${frames.join(" > ")} : ${weight}`).sort(), format).toEqual(
        expected,
      );
    }
    // Names alone do not distinguish two calls of one function.
    expect(exported(DRAWN, "folded").weight).toEqual([
      { frames: ["main", "cache"], weight: 32768 },
      { frames: ["main", "parse", "node"], weight: 2880 },
    ]);
  });

  it("names amounts without a call path, and amounts that only the run's totals have", () => {
    const profile = profileOfPicture(PICTURE, {}, { allocations: 130, allocatedBytes: 50_000 });
    const { alloc_objects: objects } = exported(profile, "pprof");
    expect(objects).toContainEqual({ frames: ["[no call path]"], weight: 3 });
    expect(objects).toContainEqual({ frames: ["[in no context]"], weight: 9 });
    expect(sumsOf(exported(profile, "pprof")).alloc_space).toBe(50_000);
  });

  it("is read back as other tools' profiles are", () => {
    const written = (format: "dhat" | "pprof") => {
      const tool = exportedTool({ tool: "heap", profile: DRAWN });
      return contentOf(writeStacks(format, { tool: "heap", profile: DRAWN }, tool, tool.shown));
    };
    const sum = (column: ArrayLike<number> | ArrayLike<bigint>) =>
      Array.from(column, Number).reduce((total, value) => total + value, 0);
    for (const read of [readDhat(`${written("dhat")}`), readPprof(gunzipSync(written("pprof")))]) {
      const { mibs, site } = read.contexts;
      const own = DRAWN.contexts;
      expect([sum(mibs.allocCount), sum(mibs.totalSize)]).toEqual([
        sum(own.mibs.allocCount),
        sum(own.mibs.totalSize),
      ]);
      expect([sum(site!.peakBytes), sum(site!.liveBytes)]).toEqual([
        sum(own.site!.peakBytes),
        sum(own.site!.liveBytes),
      ]);
    }
  });

  it("keeps what DHAT itself had read and written", () => {
    const points = [
      { tb: 8, tbk: 1, tl: 5, mb: 8, mbk: 1, gb: 8, gbk: 1, eb: 0, ebk: 0, rb: 3, wb: 4, fs: [1] },
    ];
    const head = { dhatFileVersion: 2, mode: "heap", verb: "Allocated", bklt: true, bkacc: true };
    const rest = { tu: "instrs", Mtu: "Minstr", tuth: 500, cmd: "app", pid: 1, te: 9, tg: 6 };
    const file = { ...head, ...rest, pps: points, ftbl: ["[root]", "0x10: main (app.c:3)"] };
    const profile = readDhat(JSON.stringify(file));
    expect(sumsOf(exported(profile, "dhat"))).toMatchObject({ tb: 8, tl: 5, gb: 8, eb: 0, rb: 3, wb: 4 });
    expect(sumsOf(exported(profile, "pprof"))).toMatchObject({ read_bytes: 3, written_bytes: 4 });
  });

  it("leaves out uses if accesses were not counted", () => {
    const description = { ...DRAWN.description, unknownFields: ["totalAccessCount"] as const };
    const names = Object.keys(exported({ ...DRAWN, description }, "pprof"));
    expect(names).toContain("peak_space");
    for (const name of ["accesses", "unused_space", "unread_space"]) expect(names).not.toContain(name);
  });

  it("is refused for DHAT if total blocks and bytes are unknown", () => {
    const profile = {
      ...DRAWN,
      description: { ...DRAWN.description, unknownFields: ["totalSize"] as const },
    };
    const recorded = { tool: "heap", profile } as const;
    const choice = { by: undefined, option: "--by", input: "heap.pb.gz" };
    expect(() => chooseWeight("dhat", recorded, exportedTool(recorded), choice)).toThrow(
      "dhat files have blocks and bytes in total, which heap.pb.gz does not know",
    );
  });

  it("begins with a weight that is not zero", () => {
    expect(exported(profileOfPicture("main > a  1 x 8"), "folded").weight).toEqual([
      { frames: ["main", "a"], weight: 8 },
    ]);
    expect(exported(profileOfPicture("main > a  2 x 8  peak 2\nmain > b  9 x 8"), "folded").weight).toEqual([
      { frames: ["main", "a"], weight: 16 },
    ]);
  });

  it("leaves out figures that a profile without its run lacks", () => {
    const profile = rawProfileOfPicture(PICTURE);
    expect(Object.keys(exported(profile, "pprof"))).toEqual([
      "lifetimes",
      "unused_space",
      "temporary_objects",
      "accesses",
      "alloc_objects",
      "alloc_space",
    ]);
    expect(Object.keys(exported(profile, "dhat"))).toEqual(["tb", "tbk"]);
  });

  it("is refused if an amount is too large for an exact number", () => {
    const profile = profileOfPicture("main > huge  1 x 8  access 9007199254740993");
    expect(() => exported(profile, "pprof")).toThrow("cannot write accesses: ");
  });
});
