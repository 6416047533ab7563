import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { fragmentation } from "../../../src/explain/findings/fragmentation.ts";
import type { ProcessMemory } from "../../../src/profile/model/run.ts";
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

function findingsOf(picture: string, memory: ProcessMemory | undefined) {
  const profile = withOwnSites(profileOfPicture(picture), new FrameRules());
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
