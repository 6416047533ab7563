import { describe, expect, it } from "vitest";
import { bareName, withoutSignature } from "../../../../src/explain/analyses/frames/function-names.ts";

describe("a name without its signature", () => {
  it.each([
    ["draw(int, Style const&)", "draw"],
    ["Tiles::load(Key) const", "Tiles::load"],
    ["std::vector<int>::push_back(int&&)", "std::vector<…>::push_back"],
    ["operator()(int)", "operator()"],
    ["ruby-init: func(args: list<string>) -> ()", "ruby-init"],
  ])("of %s is %s", (name, short) => {
    expect(withoutSignature(name)).toBe(short);
  });

  it.each(["ruby-init: func(args: list<string>) -> ()", "ruby-init: func() -> tuple<s32, u32>"])(
    "is bare: %s",
    (name) => {
      expect(bareName(name)).toBe("ruby-init");
    },
  );

  it("is the name where that is nothing but brackets", () => {
    expect(withoutSignature("(below main)")).toBe("(below main)");
  });
});
