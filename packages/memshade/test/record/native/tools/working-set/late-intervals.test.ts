import { describe, expect, it } from "vitest";
import { CONTROL_BYTES, PIECE_BYTES } from "../../../../../src/record/native/tools/working-set/layout.ts";
import { lateIntervals } from "../../../../../src/record/native/tools/working-set/read/describe-native.ts";
import { MarkedLines } from "../../../../../src/record/native/tools/working-set/read/marked-lines.ts";
import { IntervalRecords } from "../../../../../src/record/native/tools/working-set/read/native-session.ts";

const MS = 1e6;

describe("the end of a process", () => {
  /** Touches two lines, after which no reader runs until the process has ended. */
  function recordsUntil(seenAfter: number): [number, number][] {
    const lines = new MarkedLines(() => "heap");
    const how = { interval: 20 * MS, maxIntervals: 64, unit: "wall" as const, adaptive: false };
    const intervals = new IntervalRecords(lines, how, 0);
    const taken = { cpu: 1, refused: 0, accesses: 0, isAlone: false };
    const marks = new Uint8Array(PIECE_BYTES).fill(1, 0, 2);
    lines.piece(CONTROL_BYTES, marks);
    intervals.end({ ...taken, now: 20 * MS });
    intervals.end({ ...taken, now: 20 * MS + seenAfter, cpu: 0 }, true);
    return intervals.records.map(({ start, end }) => [start / MS, end / MS]);
  }

  it("is no interval of its own, however late it is seen", () => {
    expect(recordsUntil(3 * MS)).toEqual([[0, 23]]);
    expect(recordsUntil(90 * MS)).toEqual([[0, 40]]);
  });
});

describe("intervals that end late", () => {
  it("are told with the longest of them", () => {
    const records = [
      { start: 0, end: 85.34 * MS, scale: 0 },
      { start: 85.34 * MS, end: 100 * MS, scale: 0 },
      { start: 100 * MS, end: 150 * MS, scale: 0 },
    ];
    expect(lateIntervals(records, 20 * MS).join()).toMatch(
      /^2 intervals of 3 took at least twice as long as requested, up to 85\.3 ms:/,
    );
  });

  it("are none where the tool itself has made intervals longer, or a look was a little late", () => {
    expect(lateIntervals([{ start: 0, end: 39 * MS, scale: 0 }], 20 * MS)).toEqual([]);
    expect(lateIntervals([{ start: 0, end: 81 * MS, scale: 2 }], 20 * MS)).toEqual([]);
  });
});
