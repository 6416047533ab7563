import { describe, expect, it } from "vitest";
import { withoutSignature } from "../../../src/analyses/frames/function-names.ts";

describe("a name without its signature", () => {
  it.each([
    ["draw(int, Style const&)", "draw"],
    ["Tiles::load(Key) const", "Tiles::load"],
    ["std::vector<int>::push_back(int&&)", "std::vector<…>::push_back"],
    ["operator()(int)", "operator()"],
  ])("of %s is %s", (name, short) => {
    expect(withoutSignature(name)).toBe(short);
  });

  it("is the name where that is nothing but brackets", () => {
    expect(withoutSignature("(below main)")).toBe("(below main)");
  });
});
