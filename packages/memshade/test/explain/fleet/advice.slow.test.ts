import { describe, expect, it } from "vitest";
import {
  coldFields,
  type IntervalRow,
  type LayoutRow,
  type OwnerRow,
  usedTogether,
} from "../../../src/explain/fleet/advice.ts";

const COMMENT = { name: "comment", offset: 72, size: 24 };
const TITLE = { name: "title", offset: 0, size: 24 };

function layout(run: bigint, ...fields: LayoutRow["fields"]): LayoutRow {
  return { run, site: 1n, type: "Track", element: 96, bytes: 96_000, fields };
}

/** A site used in some intervals of a run: 640 bytes in each, half of them touched. */
function used(run: bigint, site: bigint, intervals: readonly number[]): OwnerRow[] {
  return intervals.map((interval) => ({ run, interval, site, bytes: 640, fill: 0.5 }));
}

function intervals(...bytes: readonly number[]): IntervalRow[] {
  return [1n, 2n].flatMap((run) => bytes.map((of, interval) => ({ run, interval, bytes: of })));
}

const TEN = Array.from({ length: 10 }, (_, index) => index);

describe("fields that are cold together", () => {
  it("are those that no run reads, and save their part of the blocks", () => {
    // 24 of 96 bytes per block, 96,000 bytes in all: a quarter.
    expect(coldFields([layout(1n, TITLE, COMMENT), layout(2n, COMMENT)])).toEqual([
      {
        kind: "cold-fields",
        site: 1n,
        type: "Track",
        element: 96,
        fields: [COMMENT],
        runs: 2,
        saves: 24_000,
      },
    ]);
  });

  it("are those that no path to a place leaves unread alone, and the blocks of all paths count", () => {
    const rows = [1n, 2n].flatMap((run) => [layout(run, COMMENT, TITLE), layout(run, COMMENT)]);
    expect(coldFields(rows)).toMatchObject([{ fields: [COMMENT], runs: 2, saves: 48_000 }]);
  });

  it("are none where some run reads them all, or where there is one run", () => {
    expect(coldFields([layout(1n, COMMENT), layout(2n)])).toEqual([]);
    expect(coldFields([layout(1n, COMMENT)])).toEqual([]);
  });
});

describe("advice that saves less than a line of memory", () => {
  it("is not given", () => {
    const one = { name: "flags", offset: 0, size: 8 };
    const single = { run: 1n, site: 1n, type: "Options", element: 96, bytes: 96, fields: [one] };
    expect(coldFields([single, { ...single, run: 2n }])).toEqual([]);
  });
});

describe("places that are used together", () => {
  it("are in the same intervals in every run that has both", () => {
    const rows = [1n, 2n].flatMap((run) => [...used(run, 7n, TEN), ...used(run, 8n, TEN)]);
    // Two times 640 bytes, half of them touched. After the change, the interval without these sites is the largest.
    expect(usedTogether(rows, intervals(...TEN.map(() => 2000), 1500))).toEqual([
      { kind: "used-together", sites: [7n, 8n], overlap: 1, runs: 2, saves: 640, savesOfLargest: 500 },
    ]);
  });

  it("are found in runs of more intervals than a call has room for", () => {
    const many = Array.from({ length: 200_000 }, (_, index) => index);
    const rows = [1n, 2n].flatMap((run) => [...used(run, 7n, many), ...used(run, 8n, many)]);
    expect(usedTogether(rows, intervals(...TEN.map(() => 2000)))).toMatchObject([{ runs: 2, saves: 640 }]);
  });

  it("are not those that one run uses apart", () => {
    const rows = [
      ...used(1n, 7n, TEN),
      ...used(1n, 8n, TEN),
      ...used(2n, 7n, TEN),
      ...used(2n, 8n, [0, 1, 2]),
    ];
    expect(usedTogether(rows, [])).toEqual([]);
  });

  it("save nothing that is known where nobody counted the bytes of lines", () => {
    const rows = [1n, 2n]
      .flatMap((run) => [...used(run, 7n, TEN), ...used(run, 8n, TEN)])
      .map((row) => ({ ...row, fill: undefined }));
    expect(usedTogether(rows, [])).toEqual([]);
  });
});
