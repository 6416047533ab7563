import { expect, it } from "vitest";
import { findMeasure, MEASURES, measureOfWord, measuresOfTool } from "../../../src/explain/measures/index.ts";
import { someMeasures } from "../../../src/explain/measures/some-measures.ts";

const idsOf = (text: string) => text.replace(/ or another .*/, "").split(", ");

it("ten words of measures that there are stand for many, and the command that lists the others", () => {
  const text = someMeasures(
    MEASURES.map(({ id }) => id),
    "top",
  );
  expect(text).toMatch(/^bytes, peak, left, .* or another that memshade top --help lists$/);
  expect(idsOf(text)).toHaveLength(10);
  for (const id of idsOf(text)) expect(findMeasure(id, "top"), id).toBeDefined();
});

it("words that are few are all there", () => {
  expect(someMeasures(["a", "b"], "tree")).toBe("a, b");
});

it("ten of one tool's are its own", () => {
  const ids = measuresOfTool("heap").map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(12);
  for (const id of idsOf(someMeasures(ids, "export"))) expect(ids).toContain(id);
});

it("an unknown word is refused with those that are like it, and with none where none is", () => {
  expect(() => measureOfWord("peek", "top")).toThrow(/, not "peek"; most like it is peak$/);
  expect(() => measureOfWord("zzz", "trend")).toThrow(/memshade store trend --help lists, not "zzz"$/);
});
