import { describe, expect, it } from "vitest";
import { rootRanges } from "../../../../../../src/record/tools/heap/read/reach/look-through.ts";
import type { PointerRoots } from "../../../../../../src/record/tools/options.ts";

const STACK_FIRST: PointerRoots = {
  memory: "memshade.program",
  globals: [],
  stackFrom: 0,
  stackTo: 65_536,
  dataEnd: 68_000,
  allocatorState: [],
};
const NOW = { lowestBlock: 70_016, stackPointer: 65_536, memoryBytes: 131_072 };

describe("the roots of a program", () => {
  it("are its static data up to the heap, and no stack where it has returned", () => {
    expect(rootRanges(STACK_FIRST, NOW)).toEqual([65_536, 70_000]);
  });

  it("have the stack as far as it is in use", () => {
    expect(rootRanges(STACK_FIRST, { ...NOW, stackPointer: 65_000 })).toEqual([65_000, 70_000]);
  });

  it("have all of the memory below the heap where no stack pointer is known", () => {
    expect(rootRanges(STACK_FIRST, { ...NOW, stackPointer: undefined })).toEqual([0, 70_000]);
    expect(rootRanges({ ...STACK_FIRST, stackTo: 0 }, NOW)).toEqual([0, 70_000]);
  });

  it("leave out no more of a stack above the data than stacks have at least: zeroed data may lie below it", () => {
    const above = { ...STACK_FIRST, stackFrom: 5000, stackTo: 200_000, dataEnd: 5000 };
    const now = { ...NOW, lowestBlock: 200_032, stackPointer: 199_000, memoryBytes: 262_144 };
    expect(rootRanges(above, now)).toEqual([0, 200_000 - 65_536, 199_000, 200_016]);
  });

  it("leave out what the allocator alone knows", () => {
    expect(rootRanges({ ...STACK_FIRST, allocatorState: [69_000, 69_400, 90_000, 90_008] }, NOW)).toEqual([
      65_536, 69_000, 69_400, 70_000,
    ]);
  });

  it("go on to the end of data that lies above the first block", () => {
    expect(rootRanges({ ...STACK_FIRST, dataEnd: 80_000 }, NOW)).toEqual([65_536, 80_000]);
  });
});
