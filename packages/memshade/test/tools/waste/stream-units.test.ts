import { describe, expect, it } from "vitest";
import type { LoopAccess } from "../../../src/tools/waste/pass/loop-streams.ts";
import { unitsOf } from "../../../src/tools/waste/pass/stream-units.ts";
import { opcodeId } from "../../../src/wasm/index.ts";

interface Stream {
  stores?: boolean;
  base?: number;
  offset: number;
  size?: number;
  stride?: number;
  /** The stride is a local. */
  varies?: boolean;
}

/** Numbers of the units of streams, 4 bytes at base 1 every 8 bytes if they do not say otherwise. */
function numbersOf(streams: readonly Stream[]): number[] {
  const accesses = streams.map(({ stores, base = 1, offset, size = 4 }) => ({
    place: { op: opcodeId(stores === true ? "i32.store" : "i32.load"), size },
    base,
    offset,
    entries: [],
  })) as unknown as LoopAccess[];
  const strides = streams.map(({ stride = 8, varies }) => ({
    stride: { terms: varies === true ? [{ local: 3, factor: 1 }] : [], constant: stride },
  }));
  return unitsOf(accesses, strides).map(({ number }) => number);
}

describe("streams that move as one", () => {
  it("go from one base by one stride, numbered as they come", () => {
    const rows = [{ offset: 0 }, { base: 2, offset: 0 }, { offset: 4 }, { base: 2, offset: 4 }];
    expect(numbersOf(rows)).toEqual([0, 1, 0, 1]);
    expect(numbersOf([{ offset: 0 }, { offset: 4, stride: 16 }])).toEqual([0, 1]);
    expect(
      numbersOf([
        { offset: 0, varies: true },
        { offset: 4, varies: true },
      ]),
    ).toEqual([0, 1]);
  });

  it("are within one place of a trip", () => {
    expect(numbersOf([{ offset: -4 }, { offset: 0 }, { offset: 4 }])).toEqual([0, 0, 1]);
    expect(
      numbersOf([
        { offset: 0, size: 8 },
        { offset: 4, size: 8 },
      ]),
    ).toEqual([0, 1]);
    const back = { stride: -8 };
    expect(
      numbersOf([
        { ...back, offset: 4 },
        { ...back, offset: 0 },
      ]),
    ).toEqual([0, 0]);
  });

  it("are the stores first: loads beside them find what room is left", () => {
    const streams = [{ offset: -4 }, { offset: 0 }, { offset: 0, stores: true }, { offset: 4, stores: true }];
    expect(numbersOf(streams)).toEqual([0, 1, 1, 1]);
  });

  it("stand at the same bytes, if they stand", () => {
    const still = { stride: 0 };
    const streams = [
      { ...still, offset: 8 },
      { ...still, offset: 8 },
      { ...still, offset: 12 },
    ];
    expect(numbersOf(streams)).toEqual([0, 0, 1]);
  });

  it("are no loads that are far apart from trip to trip, but beside a store", () => {
    const far = { stride: 40 };
    expect(
      numbersOf([
        { ...far, offset: 0 },
        { ...far, offset: 4 },
      ]),
    ).toEqual([0, 1]);
    expect(
      numbersOf([
        { ...far, offset: 0 },
        { ...far, offset: 4, stores: true },
      ]),
    ).toEqual([0, 0]);
  });
});
