import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PiecewiseBytes } from "../../../src/ground/bytes/piecewise.ts";

const FILE = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7 + (index >> 8)) | 1);

function recordingSource() {
  const reads: [number, number][] = [];
  return {
    reads,
    size: FILE.length,
    read: (offset: number, length: number) => FILE.slice(offset, offset + length),
    readInto(offset: number, target: Uint8Array) {
      reads.push([offset, target.length]);
      target.set(FILE.subarray(offset, offset + target.length));
      return target;
    },
  };
}

describe("a part of a file that is loaded in pieces", () => {
  it("has the bytes that were asked for, and reads none of them twice", () => {
    const pieces = fc.array(fc.tuple(fc.nat(150_000), fc.nat(20_000)), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, (asked) => {
        const source = recordingSource();
        const part = new PiecewiseBytes(source, 1000, 150_000);
        for (const [start, length] of asked) {
          part.load(start, start + length);
          const end = Math.min(start + length, 150_000);
          expect(part.bytes.subarray(start, end)).toEqual(FILE.subarray(1000 + start, 1000 + end));
        }
        const places = source.reads.flatMap(([offset, length]) =>
          Array.from({ length: Math.ceil(length / 1024) }, (_, chunk) => offset + chunk * 1024),
        );
        expect(new Set(places).size).toBe(places.length);
      }),
      { numRuns: 50 },
    );
  });

  it("becomes whole when all of it is asked for", () => {
    const part = new PiecewiseBytes(recordingSource(), 10, 100_000);
    part.load(50_000, 50_001);
    expect(part.loadAll()).toEqual(FILE.subarray(10, 100_010));
  });

  it("ends where the file ends, whatever was announced", () => {
    expect(new PiecewiseBytes(recordingSource(), 150_000, 1e9).loadAll()).toEqual(FILE.subarray(150_000));
    expect(new PiecewiseBytes(recordingSource(), 1e9, 10).bytes.length).toBe(0);
  });
});
