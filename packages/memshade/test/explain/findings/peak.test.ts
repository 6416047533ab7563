import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { NO_DRAG } from "../../../src/profile/model/over-time/drag.ts";
import { profileOfPicture } from "../../heap-picture.ts";

/** Findings of contexts whose blocks live for these amounts of the program's work, in the order of the picture. */
function peaksOf(picture: string, meanwhile: readonly number[], otherAccesses = 0) {
  const profile = withOwnSites(
    profileOfPicture(picture, {}, { otherAccesses, keptAfterUse: NO_DRAG }),
    new FrameRules(),
  );
  const { contexts } = profile;
  const keptAfterUse = meanwhile.map((work, row) => {
    const bytes = Number(contexts.mibs.totalSize[row]);
    return { ...NO_DRAG, followed: 1, blocks: contexts.mibs.allocCount[row]!, bytes, byteWork: bytes * work };
  });
  const heap = { ...profile, contexts: { ...contexts, site: { ...contexts.site!, keptAfterUse } } };
  return runFindings({ heap }).filter(({ kind }) => kind === "peak");
}

// 38,000 accesses to a matrix and 61,900 to the rest, and 50 for each of two allocations: 100,000.
const MATRIX = `
  main > middle  1 x 980000  life 1  access 38000  peak 1
  main > load    1 x 20000   life 9  access 61900  peak 1
`;

describe("a finding of the peak", () => {
  it("is the site that makes more than a quarter of the peak for a part of the run", () => {
    expect(peaksOf(MATRIX, [40_000, 100_000])).toMatchObject([
      {
        kind: "peak",
        amount: 980_000,
        unit: "bytes",
        peak: 1_000_000,
        held: 0.4,
        part: 0.98 * 0.6,
        place: { path: [{ function: "middle" }, { function: "main" }] },
      },
    ]);
  });

  it("is absent if the program does its other work while the blocks exist", () => {
    // Half of the 91,950 accesses to the rest are 45,975; making the matrix takes 50.
    const rarelyUsed = MATRIX.replace("38000", "8000").replace("61900", "91900");
    expect(peaksOf(rarelyUsed, [100_000 - 45_975 - 50, 100_000])).toHaveLength(1);
    expect(peaksOf(rarelyUsed, [100_000 - 45_974 - 50, 100_000])).toEqual([]);
  });

  it("is absent if less than a third of the work is done without the blocks", () => {
    expect(peaksOf(MATRIX.replace("61900", "9900"), [44_000, 48_000])).toEqual([]);
    expect(peaksOf(MATRIX.replace("61900", "12950"), [34_033, 51_050])).toHaveLength(1);
    expect(peaksOf(MATRIX.replace("61900", "12950"), [34_034, 51_050])).toEqual([]);
  });

  it("is absent if the blocks are made again in each round, and most of the work is done while they exist", () => {
    const rounds = MATRIX.replace("1 x 980000", "2 x 980000").replace("38000", "19000");
    expect(peaksOf(rounds, [25_000, 100_000])).toHaveLength(1);
    expect(peaksOf(rounds, [25_100, 100_000])).toEqual([]);
  });

  it("is absent for a growing block, such as a table that keeps its data", () => {
    const grown = (copied: number) =>
      MATRIX.replace("access 38000", `access 38000  chains 1  copies 5  copied ${copied}`);
    expect(peaksOf(grown(490_000), [40_000, 100_000])).toEqual([]);
    expect(peaksOf(grown(480_000), [40_000, 100_000])).toHaveLength(1);
  });

  it("is absent if the saving is smaller than a page of WebAssembly memory", () => {
    expect(peaksOf(MATRIX.replace("980000", "60000"), [40_000, 100_000])).toEqual([]);
  });

  it("is absent if other sites have three times as many bytes", () => {
    expect(peaksOf(MATRIX.replace("20000 ", "2990000 "), [40_000, 100_000])).toEqual([]);
  });

  it("is absent if most of the blocks live to the end", () => {
    expect(peaksOf(MATRIX.replace("38000  peak 1", "38000  peak 1  live 1"), [40_000, 100_000])).toEqual([]);
  });

  it("is the caller that makes the peak, if other callers of the function keep their blocks longer", () => {
    const picture = MATRIX.replace("middle", "middle > grid").replace("load ", "load > grid");
    const [peak, ...others] = peaksOf(picture, [40_000, 100_000]);
    expect(others).toEqual([]);
    expect(peak!.place).toMatchObject({
      path: [{ function: "middle" }, { function: "main" }],
      via: { function: "grid" },
    });
  });
});
