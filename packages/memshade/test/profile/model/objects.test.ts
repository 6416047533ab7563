import { describe, expect, it } from "vitest";
import { readObjects } from "../../../src/profile/model/objects.ts";
import { someObjects } from "../../objects-picture.ts";

describe("objects.json", () => {
  it("is read as it was written", () => {
    const profile = someObjects();
    expect(readObjects(JSON.stringify(profile))).toEqual(profile);
  });

  it.each([
    ["no JSON", "{", /JSON/],
    ["another file", "{}", /does not tell of the objects/],
    ["a later version", JSON.stringify({ ...someObjects(), version: 2 }), /version/],
  ])("is refused in one line: %s", (_, text, message) => {
    expect(() => readObjects(text)).toThrow(message);
  });

  it("has columns of one length, and indices of what is there", () => {
    const damaged = (change: (part: ReturnType<typeof someObjects>["parts"][number]) => void) => {
      const profile = someObjects();
      change(profile.parts[0]!);
      return () => readObjects(JSON.stringify(profile));
    };
    expect(damaged(({ samples }) => samples.weight.pop())).toThrow(/different lengths/);
    expect(damaged(({ samples }) => samples.site.fill(9))).toThrow(/no site 9/);
    expect(damaged(({ samples }) => samples.context.fill(9))).toThrow(/no context 9/);
    expect(damaged(({ samples }) => samples.host.fill(9))).toThrow(/no path 9/);
    expect(damaged(({ contexts }) => contexts.bytes.pop())).toThrow(/different lengths/);
    expect(damaged(({ contexts }) => contexts.path.fill(9))).toThrow(/no path 9/);
    expect(damaged(({ paths }) => paths.frame.fill(9))).toThrow(/no frame 9/);
    expect(damaged(({ paths }) => paths.caller.fill(1))).toThrow(/path 0 is called by path 1/);
    expect(damaged(({ sites }) => Object.assign(sites[0]!, { type: 9 }))).toThrow(/no type 9/);
  });
});
