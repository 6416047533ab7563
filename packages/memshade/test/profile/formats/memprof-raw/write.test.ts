import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRaw, writeRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { blockMib } from "../../../../src/profile/model/mib.ts";
import { rawProfile } from "./arbitrary.ts";

const block = {
  accessCount: 5n,
  size: 24,
  allocTimestamp: 0,
  deallocTimestamp: 3,
  allocCpuId: 0,
  deallocCpuId: 0,
};

const profile = {
  version: 4 as const,
  segments: [{ start: 0x1000n, end: 0x2000n, offset: 0n, buildId: Uint8Array.of(0xab, 0xcd) }],
  contexts: [
    { stackId: 1n, mib: blockMib({ ...block, histogram: [5000n, 4n, 1n << 40n] }), pcs: [0x1010n, 0x1020n] },
    { stackId: 2n, mib: blockMib(block), pcs: [0x1030n] },
  ],
};

describe("writeRaw", () => {
  it("writes version 4 unless told otherwise, with the sections where the header says", () => {
    const bytes = writeRaw(profile);
    const view = new DataView(bytes.buffer);
    expect(Array.from({ length: 5 }, (_, field) => Number(view.getBigUint64(8 + 8 * field, true)))).toEqual([
      4,
      bytes.length,
      48,
      48 + 8 + 64,
      48 + 8 + 64 + 8 + 2 * (8 + 144) + 3 * 8,
    ]);
    expect(bytes.length % 8).toBe(0);
  });

  it("reads back what it wrote, in version 4 exactly", () => {
    fc.assert(
      fc.property(rawProfile, (any) => {
        expect(readRaw(writeRaw(any, 4))).toEqual(any);
      }),
    );
  });

  it("loses only the histograms in version 3", () => {
    fc.assert(
      fc.property(rawProfile, (any) => {
        const contexts = any.contexts.map(({ mib: { histogram: _, ...mib }, ...context }) => ({
          ...context,
          mib: { ...mib, accessHistogramSize: 0 },
        }));
        expect(readRaw(writeRaw(any, 3))).toEqual({ ...any, version: 3, contexts });
      }),
    );
  });

  it("rounds histogram counts above 4095 up in version 5, and pads odd sections to 8 bytes", () => {
    const bytes = writeRaw(profile, 5);
    expect(bytes.length % 8).toBe(0);
    expect(readRaw(bytes).contexts[0]!.mib.histogram).toEqual([5000n, 4n, 134_184_960n]);
    expect(writeRaw(readRaw(bytes), 5)).toEqual(bytes);
  });

  it("writes the stale histogram pointer of a profile it read as 0", () => {
    const [context] = profile.contexts;
    const stale = {
      ...profile,
      contexts: [{ ...context!, mib: { ...context!.mib, accessHistogram: 0x7f00n } }],
    };
    expect(readRaw(writeRaw(stale)).contexts[0]!.mib.accessHistogram).toBe(0n);
  });

  it("takes a profile without segments and contexts", () => {
    const empty = { version: 4 as const, segments: [], contexts: [] };
    expect(readRaw(writeRaw(empty, 4))).toEqual(empty);
    expect(writeRaw(empty)).toHaveLength(48 + 3 * 8);
  });

  it("refuses a build id that does not fit", () => {
    const segments = [{ start: 0n, end: 1n, offset: 0n, buildId: new Uint8Array(33) }];
    expect(() => writeRaw({ ...profile, segments })).toThrow(/33 bytes does not fit/);
  });
});
