import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { count, list, misfit, part, record, settings, text } from "../../../src/profile/model/check.ts";

const file = record<{ name: string; runs: { sizes: number[][] }[]; options: object }>({
  name: text,
  runs: list(record({ sizes: list(list(count)) })),
  options: settings,
});
const SOUND = { name: "app", runs: [{ sizes: [[1], [2, 3]] }], options: { threads: 2 } };

describe("a check of parsed JSON", () => {
  it("returns the value itself", () => {
    expect(file(SOUND)).toBe(SOUND);
  });

  it.each([
    [[], "the file should be an object, but found []"],
    [{ ...SOUND, name: 1 }, "name should be text, but found 1"],
    [{ ...SOUND, runs: [SOUND.runs[0], {}] }, "runs[1].sizes should be a list, but it is missing"],
    [{ ...SOUND, runs: [{ sizes: [[], [1, -2]] }] }, "runs[0].sizes[1][1] should be a count, but found -2"],
    [{ ...SOUND, options: { all: [] } }, "options.all should be a plain value, but found []"],
  ])("names the place in %j", (damaged, message) => {
    expect(() => file(damaged)).toThrow(new UserError(message));
  });

  it("says what a check of its own says, with the place", () => {
    const even = list((value) => ((value as number) % 2 === 0 ? value : misfit("should be even")));
    expect(() => part("sizes", even, [2, 3])).toThrow("sizes[1] should be even");
  });

  it("lets errors through that are none of its own", () => {
    const broken = list((): never => {
      throw new RangeError("not the file's fault");
    });
    expect(() => part("sizes", broken, [1])).toThrow(new RangeError("not the file's fault"));
  });
});
