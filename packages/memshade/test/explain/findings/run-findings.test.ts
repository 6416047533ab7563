import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { furtherRun, runFindings } from "../../../src/explain/findings/run-findings.ts";
import { furtherRunInWords } from "../../../src/show/report/findings.ts";
import { profileOfPicture, reachOfPicture } from "../../heap-picture.ts";

/** Last line of a run that recorded allocations alone, or accesses too. */
function lastLine(picture: string, counters: "none" | "exact" = "none", otherAccesses = 0) {
  const profile = withOwnSites(
    profileOfPicture(picture, {}, { otherAccesses, reach: reachOfPicture(picture) }),
    new FrameRules(),
  );
  const heap = { ...profile, description: { ...profile.description, counters } };
  const further = furtherRun({ heap }, runFindings({ heap }));
  return further === undefined ? undefined : furtherRunInWords(further).replace(/ \(\+0x\w+\)/, "");
}

describe("the tool of a further run", () => {
  it("is named with the part of the peak that one line has", () => {
    expect(lastLine("main > load  1 x 600000  peak 1\nmain > index  4 x 100000  peak 4")).toBe(
      "60.0 % of the peak (977 KiB) is of load: --tool heap tells how much of it is used, --tool waste what is stored in vain",
    );
    expect(lastLine("main > load  1 x 400000  peak 1\nmain > index  4 x 100000  peak 4")).toBeUndefined();
  });

  it("is none for a small heap", () => {
    expect(lastLine("main > load  1 x 65535  peak 1")).toBeUndefined();
    expect(lastLine("main > load  1 x 65537  peak 1")).toContain("100 % of the peak");
  });

  it("is that of blocks that are there at the end, and of which more were made until then", () => {
    const log = (late: number) =>
      `main > log  1000 x 100  life 500  peak 1000  live 1000  reachable 1000  grown ${late}`;
    expect(lastLine(log(500))).toBe(
      "1,000 blocks (97.7 KiB) of log are there at the end: --tool heap tells whether they are used",
    );
    expect(lastLine(log(0))).not.toContain("at the end");
  });

  it("is not named for a line that has a finding", () => {
    expect(lastLine("main > parse  1000 x 100  peak 1000  live 1000  lost 1000")).toBeUndefined();
  });

  it("is the one for stores and loads, where the blocks of one line have most accesses", () => {
    const grid = "main > grid  1 x 4000  life 1  access 600";
    expect(lastLine(grid, "exact", 400)).toBe(
      "60.0 % of 1,000 accesses are to blocks of grid: --tool waste tells whether any are in vain",
    );
    expect(lastLine(grid, "exact", 600)).toBeUndefined();
  });
});
