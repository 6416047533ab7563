import { expect, it } from "vitest";
import { attributedPlaces, functionsOfInterval } from "../../../../src/explain/analyses/working-set.ts";
import type { Attribution, StackFrame } from "../../../../src/profile/model/working-set/working-set.ts";

const frame = (index: number, offset: number, line?: number): StackFrame => ({
  function: index,
  offset,
  ...(line === undefined ? {} : { file: "a.c", line }),
});

/** Contexts with the lines of a run; each has half of them in an interval. */
function attribution(...contexts: [stack: StackFrame[], total: number][]): Attribution {
  return {
    contexts: contexts.map(([stack, total]) => ({
      kind: stack.length === 0 ? "stack" : "code",
      stack,
      total,
      mean: total / 2,
      peak: total,
    })),
    otherContexts: { contexts: 0, total: 0 },
    levels: [{ factor: 1, intervals: [contexts.map(([, total], number) => [number, total])], others: [0] }],
  };
}

it("instructions of one line, or of one function without lines, are one place of first touches", () => {
  const all = attribution(
    [[frame(1, 10, 7), frame(0, 5)], 3],
    [[frame(1, 14, 7), frame(0, 5)], 4],
    [[frame(1, 20, 8), frame(0, 5)], 1],
    [[frame(2, 30), frame(0, 5)], 20],
    [[frame(2, 34), frame(0, 9)], 30],
    [[], 5],
  );
  expect(
    attributedPlaces(all, "firstTouch").map(({ kind, stack, total }) => [kind, stack[0], total]),
  ).toEqual([
    ["code", { function: 2 }, 50],
    ["code", { function: 1, file: "a.c", line: 7 }, 7],
    ["stack", undefined, 5],
    ["code", frame(1, 20, 8), 1],
  ]);
});

it("calls that allocate are places of their own", () => {
  const all = attribution([[frame(2, 30)], 20], [[frame(2, 34)], 30]);
  expect(attributedPlaces(all, "owners").map(({ stack, mean }) => [stack[0].offset, mean])).toEqual([
    [34, 15],
    [30, 10],
  ]);
});

it("an interval's lines are added up by function", () => {
  const all = attribution([[frame(2, 30)], 2], [[], 3], [[frame(2, 34)], 4]);
  expect(
    functionsOfInterval(all, 0, 0).map(({ kind, frame: own, lines }) => [kind, own?.function, lines]),
  ).toEqual([
    ["code", 2, 6],
    ["stack", undefined, 3],
  ]);
  expect(functionsOfInterval(all, 1, 0)).toEqual([]);
});
