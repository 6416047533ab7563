import { describe, expect, it } from "vitest";
import { SettledBlocks } from "../../../../../../src/record/tools/heap/read/reach/sum-up.ts";

describe("blocks inside of what the host holds", () => {
  it("are settled where they were there in the first half of the program's work", () => {
    const blocks = new SettledBlocks();
    for (const startWork of [10, 20, 49, 50]) blocks.add(7, { startWork, stands: 1 });
    expect(blocks.settled(100)).toEqual(new Map([[7, 3]]));
  });

  it("are as many as those that are followed stand for, of all that there are", () => {
    const blocks = new SettledBlocks();
    // 8 of 10 blocks are followed: one sample counts for six blocks, another for two.
    blocks.add(7, { startWork: 10, stands: 6 });
    blocks.add(7, { startWork: 90, stands: 2 });
    for (let i = 2; i < 10; i++) blocks.add(7, undefined);
    // No block of this site is followed, so the share of the others is taken: 6 of 8.
    for (let i = 0; i < 4; i++) blocks.add(9, undefined);
    expect(blocks.settled(100)).toEqual(
      new Map([
        [7, 8],
        [9, 3],
      ]),
    );
  });

  it("are not known to be settled where none is followed", () => {
    const blocks = new SettledBlocks();
    blocks.add(7, undefined);
    expect(blocks.settled(100)).toEqual(new Map([[7, 0]]));
  });
});
