import { describe, expect, it } from "vitest";
import { esanReport, esanSize } from "../../../../../src/show/report/terminal/working-set.ts";
import { pictureOf } from "../../working-set-picture.ts";

describe("sizes as EfficiencySanitizer prints them", () => {
  it.each([
    [100, 6400, "Bytes"],
    [160, 10_240, "Bytes"],
    [161, 10, "KB"],
    [163_840, 10_240, "KB"],
    [163_841, 10, "MB"],
    [524_288, 32, "MB"],
  ])("%i lines are %i %s", (lines, amount, unit) => {
    expect(esanSize(lines)).toEqual({ amount, unit });
  });
});

describe("EfficiencySanitizer's report", () => {
  it("has eight series with a quarter of the samples each, and the total", () => {
    const profile = pictureOf(["ab", "a", "c", "a", "d", "d", "", "ad"], [], 20e6);
    expect(esanReport({ ...profile, unit: "wall" }, 4711)).toBe(
      [
        "==4711== Total number of samples: 8",
        "==4711== Samples array #0 at period 20 ms",
        "==4711==#   0:      128 Bytes (        2 cache lines)",
        "==4711==#   1:       64 Bytes (        1 cache lines)",
        "==4711==#   2:       64 Bytes (        1 cache lines)",
        "==4711==#   3:       64 Bytes (        1 cache lines)",
        "==4711==#   4:       64 Bytes (        1 cache lines)",
        "==4711==#   5:       64 Bytes (        1 cache lines)",
        "==4711==#   6:        0 Bytes (        0 cache lines)",
        "==4711==#   7:      128 Bytes (        2 cache lines)",
        "==4711== Samples array #1 at period 80 ms",
        "==4711==#   0:      192 Bytes (        3 cache lines)",
        "==4711==#   1:      128 Bytes (        2 cache lines)",
        "==4711== Samples array #2 at period 320 ms",
        "==4711== Samples array #3 at period 1280 ms",
        "==4711== Samples array #4 at period 5120 ms",
        "==4711== Samples array #5 at period 20 sec",
        "==4711== Samples array #6 at period 81 sec",
        "==4711== Samples array #7 at period 327 sec",
        "==4711== EfficiencySanitizer: the total working set size: 256 Bytes (4 cache lines)",
        "",
      ].join("\n"),
    );
  });
});
