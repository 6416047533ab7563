import { describe, expect, it } from "vitest";
import { staticsReport } from "../../../src/explain/analyses/statics.ts";
import { rankFindings } from "../../../src/explain/findings/rank.ts";
import { unreadDataFindings } from "../../../src/explain/findings/unread-data.ts";
import { findingInWords } from "../../../src/show/report/findings.ts";
import { statics, variable } from "../../support/statics-picture.ts";

const KIB = 1024;
const LARGE = { end: 1 << 20, segments: [{ index: 0, start: 1024, bytes: 200 * KIB }] };

const HEAP = { description: { knownHost: true } } as never;

function findingsOf(cells: Readonly<Record<number, number[]>>, bytes: number, name?: string) {
  return unreadDataFindings(staticsReport(statics(cells, [variable(name, 1024, bytes)], LARGE)), HEAP);
}

describe("the finding unread-data", () => {
  it("names a table that nobody reads, where it is declared, and how much of it", () => {
    const [finding] = findingsOf({}, 64 * KIB, "table");
    expect(finding).toMatchObject({ amount: 64 * KIB, unit: "bytes", written: false });
    expect(finding.place.path).toEqual([{ function: "table", file: "/src/crc.c", line: 12 }]);
    expect(finding.part).toBeCloseTo(64 / 200);
    expect(findingInWords(finding)).toBe("all of table (/src/crc.c:12) is never read");
  });

  it("tells of the larger part that is not read, and of what is only written", () => {
    const [partly] = findingsOf({ 1024: [5] }, 64 * KIB, "table");
    expect(partly.amount).toBe(64 * KIB - 8);
    expect(findingInWords(partly)).toBe("of 64.0 KiB of table (/src/crc.c:12) are never read");
    const [written] = findingsOf({ 1024: [-5] }, 64 * KIB, "table");
    expect(findingInWords(written)).toBe("all of table (/src/crc.c:12) is written, never read");
    const report = staticsReport(
      statics({ 1024: Array.from({ length: 1024 }, () => -1) }, [variable("pixels", 1024, 8 * KIB)], LARGE),
    );
    expect(unreadDataFindings(report, HEAP)).toHaveLength(1);
    // An unknown host may read the written data.
    expect(unreadDataFindings(report, undefined)).toEqual([]);
  });

  it("leaves out what is read for the most part, less than a page, or has no name", () => {
    const half = Array.from({ length: (4 * KIB) / 8 }, () => 1);
    expect(findingsOf({ 1024: half }, 8 * KIB, "table")).toEqual([]);
    expect(findingsOf({}, 4 * KIB - 1, "table")).toEqual([]);
    expect(findingsOf({}, 64 * KIB)).toEqual([]);
  });

  it("is no matter of zeros that nobody touches, which are neither in the file nor given memory by the system", () => {
    const behind = 1024 + 200 * KIB;
    const zeros = (cells: Readonly<Record<number, number[]>>) =>
      unreadDataFindings(staticsReport(statics(cells, [variable("line", behind, 64 * KIB)], LARGE)), HEAP);
    expect(zeros({ [behind]: [7] })).toEqual([]);
    const written = Array.from({ length: (40 * KIB) / 8 }, () => -1);
    expect(zeros({ [behind]: written })).toMatchObject([{ amount: 40 * KIB, written: true }]);
  });

  it("is told only where it is a part of the program that matters", () => {
    expect(rankFindings(findingsOf({}, 4 * KIB, "table"))).toHaveLength(1);
    const report = staticsReport(statics({}, [variable("table", 1024, 4 * KIB)], LARGE));
    const heap = { description: { totals: { peakBytes: 100 << 20 } } } as never;
    expect(rankFindings(unreadDataFindings(report, heap))).toEqual([]);
  });
});
