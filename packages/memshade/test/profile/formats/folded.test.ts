import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { writeFolded } from "../../../src/profile/formats/folded.ts";
import { sampleProfileOf } from "../../sample-picture.ts";

const folded = (picture: string): string => [...writeFolded(sampleProfileOf(picture))].join("");

describe("folded stacks", () => {
  it("have the outermost frame first, are summed and sorted", () => {
    expect(folded("main > read : 2\nmain > parse : 1\nmain > read : 3")).toBe("main;parse 1\nmain;read 5\n");
  });

  it("mark inlined frames, and keep names from splitting lines and frames", () => {
    expect(folded("main > ~a;b > c d : 4")).toBe("main;a:b_[i];c d 4\n");
  });

  it("leave out what has no weight and refuse what no reader takes", () => {
    expect(folded("main : 0")).toBe("");
    expect(() => folded("main : -1")).toThrow(UserError);
    expect(() => folded("main : 0.5")).toThrow(
      "cannot write the weight of a stack: 0.5 is not a whole number",
    );
  });

  it("keep the sum of all samples", () => {
    const names = fc.constantFrom("a", "b", "c", "d");
    const samples = fc.array(
      fc.tuple(fc.array(names, { minLength: 1, maxLength: 5 }), fc.integer({ min: 0, max: 1e6 })),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(samples, (rows) => {
        const text = folded(rows.map(([path, weight]) => `${path.join(" > ")} : ${weight}`).join("\n"));
        const total = [...text.matchAll(/ (\d+)\n/g)].reduce((sum, match) => sum + Number(match[1]), 0);
        expect(total).toBe(rows.reduce((sum, [, weight]) => sum + weight, 0));
      }),
    );
  });
});
