import { describe, expect, it } from "vitest";
import { agreeing, counted } from "../../../src/profile/model/counted.ts";

describe("numbers with their nouns", () => {
  it("agree", () => {
    expect([0, 1, 2, 12_345].map((count) => counted(count, "release"))).toEqual([
      "0 releases",
      "1 release",
      "2 releases",
      "12,345 releases",
    ]);
    expect(counted(1, "access counts", "accesses count")).toBe("1 access counts");
    expect(agreeing(2, "was", "were")).toBe("were");
  });
});
