import fc from "fast-check";
import { expect, it } from "vitest";
import { CodeMarks, encodeCodeMarks } from "../../../../src/record/tools/working-set/code-marks.ts";

it("a place has the original place of the last mark at or before it", () => {
  const mark = fc.record({
    step: fc.integer({ min: 1, max: 2 ** 20 }),
    original: fc.integer({ min: -1, max: 2 ** 27 }),
  });
  fc.assert(
    fc.property(fc.array(mark, { minLength: 1, maxLength: 40 }), (steps) => {
      let offset = 0;
      const marks = steps.map(({ step, original }) => {
        offset += step;
        return { offset, original };
      });
      const found = new CodeMarks(
        encodeCodeMarks({
          offsets: marks.map((mark) => mark.offset),
          originals: marks.map((mark) => mark.original),
        }),
      );
      expect(found.originalOf(marks[0].offset - 1)).toBe(-1);
      marks.forEach(({ offset: at, original }, i) => {
        expect(found.originalOf(at)).toBe(original);
        const next = marks[i + 1]?.offset ?? at + 1000;
        expect(found.originalOf(next - 1)).toBe(original);
      });
    }),
  );
});
