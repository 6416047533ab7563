import { describe, expect, it } from "vitest";
import { exportedTool, writeStacks, writeTrace } from "../../../src/show/exports/export-formats.ts";
import { profileOfPicture } from "../../heap-picture.ts";
import { contentOf, readStacks } from "./readers.ts";

/** Two intervals of four allocations; the third context has no entry. */
const PROFILE = {
  ...profileOfPicture(`
  main > parse  4 x 8   peak 2  live 1
  main > cache  2 x 16  peak 2  live 2
  main > log    2 x 4`),
  overTime: {
    schema: "memshade-heap-intervals",
    version: 1,
    memshade: "0",
    unit: "allocations",
    otherInstances: 0,
    instances: [
      {
        module: 0,
        instance: 0,
        period: 4,
        startBytes: 0,
        startBlocks: 0,
        lastIsPartial: false,
        intervals: {
          start: [0, 4],
          end: [4, 8],
          liveBytes: [32, 40],
          liveBlocks: [3, 3],
          maxBytes: [36, 48],
          maxBlocks: [4, 4],
          allocatedBytes: [44, 28],
          freedBytes: [12, 20],
          frees: [1, 3],
          next: ["1", "0"],
        },
        contexts: [
          {
            stackId: "1",
            startBytes: 0,
            startBlocks: 0,
            intervals: [0, 1],
            allocations: [3, 1],
            allocatedBytes: [24, 8],
            frees: [1, 2],
            freedBytes: [8, 16],
          },
          {
            stackId: "2",
            startBytes: 0,
            startBlocks: 0,
            intervals: [0, 1],
            allocations: [1, 1],
            allocatedBytes: [16, 16],
            frees: [0, 0],
            freedBytes: [0, 0],
          },
        ],
        otherContexts: 1,
      },
    ],
  },
} as const;

const RECORDED = { tool: "heap", profile: PROFILE } as never;

function written(format: "firefox" | "speedscope" | "dhat") {
  const tool = exportedTool(RECORDED);
  return contentOf(writeStacks(format, RECORDED, tool, tool.shown));
}

describe("the heap over time in files of other viewers", () => {
  it("is who allocated when, as a track of its own", () => {
    const { threads, counters } = JSON.parse(written("firefox").toString());
    const track = threads.at(-1);
    expect(track.name).toBe("alloc_space over time");
    expect(track.samples.time).toEqual([0, 4, 4, 4, 8, 8, 8, 8]);
    const stacks = readStacks("firefox", written("firefox"))["alloc_space over time"]!;
    expect(stacks.map(({ frames, weight }) => `${frames.join(" > ")} ${weight}`.trim())).toEqual([
      "0",
      "main > parse 24",
      "main > cache 16",
      "[others, not listed] 4",
      "main > parse 8",
      "main > cache 16",
      "[others, not listed] 4",
      "0",
    ]);
    expect(counters[0]).toMatchObject({ name: "live heap", samples: { time: [0, 4, 8], count: [0, 32, 8] } });
  });

  it("keeps tracks of what has no time at the end, and all of one length", () => {
    const { threads } = JSON.parse(written("firefox").toString());
    for (const { name, samples } of threads) {
      expect([samples.time[0], samples.time.at(-1)], name).toEqual([0, 8]);
      if (name !== "alloc_space over time")
        expect(samples.time.slice(1), name).toEqual(samples.time.slice(1).map(() => 8));
    }
  });

  it("is a history in speedscope", () => {
    const history = readStacks("speedscope", written("speedscope"))["alloc_space over time"]!;
    expect(history.map(({ weight }) => weight)).toEqual([24, 16, 4, 8, 16, 4]);
  });

  it("says in DHAT when the peak was", () => {
    expect(JSON.parse(written("dhat").toString())).toMatchObject({ te: 8, tg: 8, bklt: true });
  });

  it("is counters of the whole and of each site", () => {
    const { traceEvents } = JSON.parse(contentOf(writeTrace("run", [RECORDED])).toString());
    const tracks = new Map<string, [number, number][]>();
    for (const { name, ph, ts, args } of traceEvents) {
      if (ph !== "C") continue;
      tracks.set(name, [...(tracks.get(name) ?? []), [ts, args.bytes ?? args.count]]);
    }
    expect(tracks.get("live heap")).toEqual([
      [0, 0],
      [4, 32],
      [8, 40],
    ]);
    expect(tracks.get("most live in an interval")).toEqual([
      [0, 36],
      [4, 48],
      [8, 48],
    ]);
    expect(tracks.get("live of parse")).toEqual([
      [0, 0],
      [4, 16],
      [8, 8],
    ]);
    expect(tracks.get("live of cache")).toEqual([
      [0, 0],
      [4, 16],
      [8, 32],
    ]);
  });
});
