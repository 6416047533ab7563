import { describe, expect, it } from "vitest";
import { AllocationPauses } from "../../../../../../src/record/tools/heap/read/reach/sum-up.ts";

/** Blocks of one context, given the program's work at their allocation. */
function pausesOf(startWork: readonly number[], stands = 1): AllocationPauses {
  const pauses = new AllocationPauses();
  startWork.forEach((work, index) => {
    pauses.add(7, { startWork: work, time: (index + 1) * stands, stands });
  });
  return pauses;
}

describe("a context that allocated blocks which live at the end", () => {
  const tree = Array.from({ length: 1000 }, (_, node) => 80 * (node + 1));

  it("has stopped where the program goes on for many times what it did between two of them", () => {
    expect(pausesOf(tree).isOver(7, 81_000, 1000)).toBe(true);
    expect(pausesOf(tree, 4).isOver(7, 81_000, 1000)).toBe(true);
  });

  it("goes on where the program ends soon after the last one", () => {
    expect(pausesOf(tree).isOver(7, 80_000, 0)).toBe(false);
    expect(pausesOf(tree).isOver(7, 80_400, 400)).toBe(false);
    expect(pausesOf(tree).isOver(7, 80_401, 401)).toBe(true);
  });

  it("goes on where it made many at once, and pauses in between were as long before", () => {
    // 100 rounds: 20 blocks with 50 units of work each, then 1,600 units of other work.
    const rounds = Array.from(
      { length: 2000 },
      (_, block) => 50 * (block + 1) + 1600 * Math.floor(block / 20),
    );
    expect(pausesOf(rounds).isOver(7, 260_000, 1600)).toBe(false);
    expect(pausesOf(rounds).isOver(7, 268_300, 8300)).toBe(true);
  });

  it("has stopped where others went on: all that is known is the work since its own last one", () => {
    expect(pausesOf(tree).isOver(7, 160_000, 0)).toBe(true);
    expect(pausesOf(tree).isOver(7, 81_000, 0)).toBe(false);
  });

  it("goes on as far as anybody knows where fewer than two of its blocks are followed", () => {
    expect(pausesOf([80]).isOver(7, 160_000, 80_000)).toBe(false);
    expect(pausesOf([]).isOver(7, 160_000, 80_000)).toBe(false);
  });
});
