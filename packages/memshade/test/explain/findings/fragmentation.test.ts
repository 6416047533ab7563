import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { fragmentation } from "../../../src/explain/findings/fragmentation.ts";
import type { ProcessMemory, RunHeap } from "../../../src/profile/model/run.ts";
import { profileOfPicture } from "../../heap-picture.ts";

const MIB = 2 ** 20;
const STAYS = `
  main > read > message  60000 x 600  live 900
  main > table               1 x 4096 live 1`;
const FRAGMENTED: ProcessMemory = {
  residentBytes: 38 * MIB,
  peakBytes: 39 * MIB,
  allocator: { heldBytes: 37 * MIB, freeBytes: 35 * MIB, topBytes: MIB },
};

function findingsOf(picture: string, memory: ProcessMemory | undefined, heap: Partial<RunHeap> = {}) {
  const profile = withOwnSites(profileOfPicture(picture, {}, heap), new FrameRules());
  const presence = { modules: 0, shadow: 0, recorded: 0, memory };
  return fragmentation.find!({ heap: { ...profile, description: { ...profile.description, presence } } });
}

describe("fragmentation", () => {
  it("is what an allocator keeps between blocks that stay, at the place with most of these", () => {
    const [found, ...more] = findingsOf(STAYS, FRAGMENTED);
    expect(more).toEqual([]);
    expect(found).toMatchObject({ amount: 34 * MIB, part: 34 / 38, blocks: 900, resident: 38 * MIB });
    expect(found!.place.path[0]).toMatchObject({ function: "message" });
    expect(fragmentation.sentence(found!)).toMatchObject({
      before: "of free memory cannot be returned to the system: 900 live blocks of",
      after: "lie in between",
    });
  });

  describe("of a module", () => {
    const PICTURE = `
      main > read > text  1500 x 1000  life 1500  peak 1500
      main > read > key   1500 x 24    life 3000  peak 1500
      main > render        900 x 1600  life 900`;
    const PEAK_BYTES = 1500 * 1024;

    it("is what is free at the peak, at the place whose blocks stay", () => {
      const [found, ...more] = findingsOf(PICTURE, undefined, { spanBytes: 3 * MIB });
      expect(more).toEqual([]);
      expect(found).toMatchObject({ amount: 3 * MIB - PEAK_BYTES - 3000 * 24, blocks: 1500, at: "peak" });
      expect(found!.place.path[0]).toMatchObject({ function: "key" });
      expect(fragmentation.sentence(found!).before).toBe(
        "of the heap's 3.00 MiB are free even at the peak: 1,500 live blocks of",
      );
    });

    it.each<[string, Partial<RunHeap>]>([
      ["a block that doubles leaves as much", { spanBytes: 2.2 * MIB }],
      ["its size is unknown", {}],
      ["some of its blocks were not followed", { spanBytes: 3 * MIB, overflow: { contexts: 0, blocks: 1 } }],
    ])("is none where %s", (_, heap) => {
      expect(findingsOf(PICTURE, undefined, heap)).toEqual([]);
    });
  });

  it("is no more than what is resident: pages that went back are not there", () => {
    const residentBytes = 20 * MIB;
    const [found] = findingsOf(STAYS, { ...FRAGMENTED, residentBytes });
    expect(found!.amount).toBe(residentBytes - 900 * 600 - 4096);
  });

  it.each<[string, string, ProcessMemory | undefined]>([
    ["nobody saw what the process has", STAYS, undefined],
    ["its allocator has said nothing", STAYS, { residentBytes: 38 * MIB, peakBytes: 38 * MIB }],
    [
      "the end of the heap is free, which goes back",
      STAYS,
      { ...FRAGMENTED, allocator: { heldBytes: 37 * MIB, freeBytes: 35 * MIB, topBytes: 34 * MIB } },
    ],
    ["it is less than half of the process", STAYS, { ...FRAGMENTED, residentBytes: 80 * MIB }],
    [
      "a process has as much of its libraries",
      STAYS,
      {
        residentBytes: 5 * MIB,
        peakBytes: MIB,
        allocator: { heldBytes: 4 * MIB, freeBytes: 3 * MIB, topBytes: 0 },
      },
    ],
    ["a buffer alone stays", "main > print  1 x 1024  live 1", FRAGMENTED],
  ])("is none where %s", (_, picture, memory) => {
    expect(findingsOf(picture, memory)).toEqual([]);
  });
});
