import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { linesOrReason } from "../../src/cli/end-summary.ts";
import { FormatError, UserError } from "../../src/ground/bytes/errors.ts";

/** Text of the end summary if an error prevents it. */
const saidOf = (error: unknown) => linesOrReason(() => Promise.reject(error));

beforeEach(() => {
  process.env.MEMSHADE_STRICT = "0";
});
afterEach(() => {
  process.env.MEMSHADE_STRICT = "1";
});

describe("the summary at the end of a run", () => {
  it("ends in a line where it has a defect, and the program's exit code stays", async () => {
    const [line, ...others] = await saidOf(new TypeError("segments is not iterable"));
    expect(line).toMatch(
      /^cannot search for findings: internal error: TypeError: segments is not iterable at /,
    );
    expect(line).not.toContain("\n");
    expect(others).toEqual([]);
  });

  it("ends in a line where a file is damaged", async () => {
    expect(await saidOf(new FormatError("truncated", 8, "section", "it ends early"))).toEqual([
      "cannot search for findings: section at offset 0x8: it ends early",
    ]);
  });

  it("says what its report would say where a run cannot be read", async () => {
    expect(await saidOf(new UserError("run: no profile"))).toEqual([
      "cannot search for findings: run: no profile",
    ]);
  });

  it("shows its defects to tests", async () => {
    process.env.MEMSHADE_STRICT = "1";
    await expect(saidOf(new TypeError("no"))).rejects.toThrow(TypeError);
  });
});
