import { describe, expect, it } from "vitest";
import { wholeOfPart } from "../../../src/explain/findings/index.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { findingsJson } from "../../../src/show/report/json/findings.ts";
import { profileOfPicture } from "../../heap-picture.ts";

describe("what the part of a finding is of", () => {
  it("is said in JSON beside the part", () => {
    const leaky = profileOfPicture("main > make  100 x 64  peak 100  live 100");
    expect(findingsJson(runFindings({ heap: leaky }))).toMatchObject([
      { kind: "leak", part: 1, partOf: "of the bytes or of the blocks at the peak, whatever is more" },
    ]);
  });

  it("depends on the tool where two find the same", () => {
    expect(wholeOfPart({ kind: "never-read", tool: "heap" }).short).toBe("of bytes allocated");
    expect(wholeOfPart({ kind: "never-read", tool: "waste" }).short).toBe("of all bytes");
  });
});
