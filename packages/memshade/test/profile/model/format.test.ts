import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatBytes,
  formatCount,
  formatLeastPercent,
  formatLifetime,
  formatMean,
  formatPercent,
} from "../../../src/profile/model/format.ts";

describe("amounts of memory", () => {
  it.each([
    [0, "0 B"],
    [1, "1 B"],
    [1023, "1,023 B"],
    [1024, "1.00 KiB"],
    [10_240, "10.0 KiB"],
    [102_400, "100 KiB"],
    [1_048_063, "1,023 KiB"],
    [1_048_575, "1.00 MiB"],
    [1_300_234_240, "1.21 GiB"],
    [2 ** 50, "1.00 PiB"],
    [2 ** 53 - 1, "8.00 PiB"],
  ])("%d is %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it("fit into 9 columns and are right to within half a percent", () => {
    const scales = new Map(
      ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].map((unit, power) => [unit, 1024 ** power]),
    );
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        const text = formatBytes(bytes);
        const [number, unit] = text.split(" ") as [string, string];
        expect(text.length).toBeLessThanOrEqual(9);
        expect(Math.abs(Number(number) * scales.get(unit)! - bytes)).toBeLessThanOrEqual(bytes / 190);
      }),
    );
  });
});

describe("counts, means, parts and lifetimes", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [12_345, "12,345"],
    [999_999, "999,999"],
    [1_000_000, "1.00 M"],
    [1_234_567_890, "1.23 G"],
  ])("count %d is %s", (count, text) => {
    expect(formatCount(count)).toBe(text);
  });

  it.each([
    [0, "0"],
    [0.00001, "<0.001"],
    [0.03125, "0.031"],
    [3.4, "3.4"],
    [39_666.7, "39,667"],
  ])("mean %d is %s", (mean, text) => {
    expect(formatMean(mean)).toBe(text);
  });

  it.each([
    [0, 10, "0 %"],
    [0, 0, "0 %"],
    [10, 10, "100 %"],
    [99_999, 100_000, "99.9 %"],
    [452, 1000, "45.2 %"],
    [1, 1_000_000, "<0.1 %"],
  ])("%d of %d is %s", (part, whole, text) => {
    expect(formatPercent(part, whole)).toBe(text);
  });

  it("least values are said where they say something", () => {
    expect(formatLeastPercent(1, 13)).toBe("≥ 7.7 %");
    expect(formatLeastPercent(1, 100_000)).toBeUndefined();
    expect(formatLeastPercent(0, 13)).toBeUndefined();
  });

  it("lifetimes have their unit, and larger ones where the clock has some", () => {
    const milliseconds = [3.25, 950, 40_000, 350_000].map((life) =>
      formatLifetime(life, { kind: "wall", unit: "ms" }),
    );
    expect(milliseconds).toEqual(["3.25 ms", "950 ms", "40 s", "5.83 min"]);
    const allocations = { kind: "virtual", unit: "allocations" } as const;
    expect(formatLifetime(40_000, allocations)).toBe("40,000 allocs");
    expect(formatLifetime(1, allocations)).toBe("1 alloc");
  });
});
