import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeHistogramCount,
  encodeHistogramCount,
  LARGEST_HISTOGRAM_COUNT,
} from "../../../../src/profile/formats/memprof-raw/histogram.ts";
import { sharedFixtures } from "./fixtures.ts";

describe("the 16-bit histogram counts of version 5", () => {
  it.each([
    [0n, 0, 0n],
    [4095n, 0xfff, 4095n],
    [4096n, 0x1800, 4096n],
    [4097n, 0x1801, 4098n],
    [8191n, 0x2800, 8192n],
    [134_184_960n, 0xffff, 134_184_960n],
    [134_184_961n, 0xffff, 134_184_960n],
  ])("%d is 0x%x and comes back as %d", (count, encoded, decoded) => {
    expect(encodeHistogramCount(count)).toBe(encoded);
    expect(decodeHistogramCount(encoded)).toBe(decoded);
  });

  it("exact up to 4095, never less than the count, less than 1 in 1024 more", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LARGEST_HISTOGRAM_COUNT }), (count) => {
        const decoded = decodeHistogramCount(encodeHistogramCount(count));
        expect(decoded).toBeGreaterThanOrEqual(count);
        expect(Number(decoded - count)).toBeLessThanOrEqual(count < 4096n ? 0 : Number(count) / 1024);
      }),
    );
  });

  it("an encoded count is stable from the second time on", () => {
    fc.assert(
      fc.property(fc.nat(0xffff), (encoded) => {
        const once = encodeHistogramCount(decodeHistogramCount(encoded));
        expect(decodeHistogramCount(once)).toBe(decodeHistogramCount(encoded));
        expect(encodeHistogramCount(decodeHistogramCount(once))).toBe(once);
      }),
    );
  });

  it.skipIf(sharedFixtures === undefined)("agrees with the reference's vectors", () => {
    const { histogramCodec } = JSON.parse(
      fs.readFileSync(path.join(sharedFixtures!, "vectors.json"), "utf8"),
    );
    expect(histogramCodec.length).toBeGreaterThan(0);
    for (const { count, encoded, decoded } of histogramCodec) {
      expect(encodeHistogramCount(BigInt(count))).toBe(encoded);
      expect(decodeHistogramCount(encoded)).toBe(BigInt(decoded));
    }
  });
});
