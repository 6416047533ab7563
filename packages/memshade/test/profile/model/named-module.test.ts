import { describe, expect, it } from "vitest";
import { namedModule } from "../../../src/profile/model/named-module.ts";

describe("a module in the file of a tool", () => {
  const module = { name: "app.wasm", buildId: "ab" };

  it("has an index that lists can have", () => {
    expect(namedModule({ ...module, index: 3 })).toMatchObject({ index: 3 });
    expect(() => namedModule({ ...module, index: 60_000_000 })).toThrow(
      "should be below 65536, but is 60000000",
    );
  });
});
