import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FrameKeys, Through, withCalls } from "../../../../../src/show/report/page/data/through.ts";

/** Tree: the parent of each context is an earlier one or none. Frames have few keys, so that paths repeat some; frame 0 has none. */
const tree = fc
  .array(fc.tuple(fc.nat(), fc.nat({ max: 6 }), fc.nat({ max: 100 })), { minLength: 1, maxLength: 60 })
  .map((rows) => ({
    parent: Int32Array.from(rows, ([caller], row) => (caller % (row + 1)) - 1),
    frame: Int32Array.from(rows, ([, frame]) => frame),
    values: Float64Array.from(rows, ([, , value]) => value),
  }));
const KEYS: FrameKeys = {
  of: Int32Array.of(-1, 0, 0, 1, 1, 2, 2),
  first: Int32Array.of(1, 3, 5),
};

describe("what goes through a line", () => {
  it("is what each context has on whose path it is, once", () => {
    fc.assert(
      fc.property(tree, ({ parent, frame, values }) => {
        const sums = [0, 0, 0];
        for (const [context, value] of values.entries()) {
          const keys = new Set<number>();
          for (let at = context; at !== -1; at = parent[at]!) keys.add(KEYS.of[frame[at]!]!);
          for (const key of keys) if (key >= 0) sums[key]! += value;
        }
        expect([...new Through({ parent, frame }, KEYS).sums(withCalls({ parent }, values))]).toEqual(sums);
      }),
    );
  });

  it("is found on a path of any depth", () => {
    const length = 300_000;
    const parent = Int32Array.from({ length }, (_, context) => context - 1);
    const frame = new Int32Array(length).fill(1);
    const below = withCalls({ parent }, new Float64Array(length).fill(1));
    expect([...new Through({ parent, frame }, KEYS).sums(below)]).toEqual([length, 0, 0]);
  });
});
