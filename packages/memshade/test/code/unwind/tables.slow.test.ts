import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cfiStatistics, UnwindTable } from "../../../src/code/unwind/index.ts";
import { drawCfi, drawCfiObject, type FdePicture } from "./cfi-picture.ts";

/** A function whose rows are distinct: the CFA's offset grows with every step. */
function fdeOf(start: number, size: number, steps: readonly number[]): FdePicture {
  return {
    start,
    size,
    program: steps.flatMap((step, i) => [0x40 | step, 0x0e, 16 + 8 * (i + (start % 8))]),
  };
}

const steps = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 5 });
const anyFde = fc
  .tuple(fc.integer({ min: 0x1000, max: 0x3000 }), fc.integer({ min: 1, max: 120 }), steps)
  .map(([start, size, list]) => fdeOf(start, size, list));

/** Offset of the CFA that the functions define for an address; 0 if none covers it. */
function expectedOffset(fdes: readonly FdePicture[], address: number): number {
  let best: FdePicture | undefined;
  for (const fde of fdes) {
    const covers = address >= fde.start && address < fde.start + fde.size;
    if (covers && (best === undefined || fde.start > best.start)) best = fde;
  }
  if (best === undefined) return 0;
  let offset = 8;
  let location = best.start;
  for (let i = 0; i < best.program.length; i += 3) {
    location += best.program[i] & 0x3f;
    if (location > address) break;
    offset = best.program[i + 2];
  }
  return offset;
}

function foundOffset(table: UnwindTable, address: number): number {
  const set = table.find(address);
  return set === 0 ? 0 : table.rules.cfaOperand(set);
}

function distanceToCode(fdes: readonly FdePicture[], address: number): number {
  return Math.min(
    ...fdes.filter(({ start }) => start > address).map(({ start }) => start - address),
    Number.POSITIVE_INFINITY,
  );
}

describe("tables", () => {
  it("for a few lookups have no rules for padding, whether or not there is a header to look them up in", () => {
    const fdes = [fdeOf(0x1000, 0x35, [4]), fdeOf(0x1040, 0x20, [4])];
    const image = drawCfiObject("eh_frame", drawCfi("eh_frame", {}, fdes));
    const [whole, lazy] = [false, true].map((isLazy) => UnwindTable.fromObject(image, { lazy: isLazy }));
    expect([0x1034, 0x1035, 0x103f, 0x1040].map((at) => lazy!.find(at) !== 0)).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(whole!.find(0x103f)).not.toBe(0);
  });

  it("find what the functions say, in whatever order they stand and however they overlap", () => {
    fc.assert(
      fc.property(fc.array(anyFde, { minLength: 1, maxLength: 12 }), (fdes) => {
        const table = UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, fdes)));
        for (let address = 0xff0; address < 0x3100; address += 3) {
          const expected = expectedOffset(fdes, address);
          const found = foundOffset(table, address);
          // Padding between functions keeps the rule of the function before.
          if (expected === 0 && found !== 0 && distanceToCode(fdes, address) < 16) continue;
          if (found !== expected)
            expect(`${address.toString(16)}: ${found}`).toBe(`${address.toString(16)}: ${expected}`);
        }
        expect(table.counts.fdes).toBe(fdes.length);
      }),
      { numRuns: 60 },
    );
  });

  it("go by the function that was read first where several begin at one place, whatever their lengths", () => {
    const sizes = [1, 4, 4, 2, 9, 9, 7, 12];
    const fdes = [
      ...sizes.map((size, i) => ({ start: 0x2ff4, size, program: [0x41, 0x0e, 24 + 8 * i] })),
      { start: 0x1000, size: 1, program: [] },
    ];
    const table = UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, fdes)));
    const found = Array.from({ length: 12 }, (_, i) => foundOffset(table, 0x2ff4 + i));
    expect(found).toEqual([8, 32, 32, 32, 56, 56, 56, 56, 56, 80, 80, 80]);
  });

  it("have the same rules as extents and as entries, where functions do not overlap", () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 90 }), steps), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(gaps, fc.infiniteStream(fc.nat()), (list, order) => {
        let end = 0x1000;
        const sorted = list.map(([gap, size, moves]) => {
          const fde = fdeOf(end + gap, size, moves);
          end += gap + size;
          return fde;
        });
        const keys = new Map(sorted.map((fde) => [fde, order.next().value as number]));
        const shuffled = sorted.toSorted((a, b) => keys.get(a)! - keys.get(b)!);
        const object = drawCfiObject("eh_frame", drawCfi("eh_frame", {}, shuffled));
        const compact = UnwindTable.fromObject(object);
        const extents = UnwindTable.fromObject(object, { form: "lul" });
        for (let address = 0x1000; address < end + 32; address++) {
          const expected = expectedOffset(sorted, address);
          expect(foundOffset(extents, address)).toBe(expected);
          if (expected !== 0) expect(foundOffset(compact, address)).toBe(expected);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("keep their order where a few of many functions stand elsewhere, on both sides of 2 GiB", () => {
    const fdes = Array.from({ length: 4000 }, (_, i) =>
      fdeOf(2 ** 31 - 100_000 + 50 * i + (i % 7), 50 - (i % 7) - (i % 3), [3, 4, 5]),
    );
    const shuffled = [...fdes.slice(0, 500), ...fdes.slice(502, 3000), fdes[501]!, fdes[500]!];
    shuffled.push(...fdes.slice(3000));
    const table = UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, shuffled)));
    for (const { start, size } of fdes)
      for (const address of [start, start + 3, start + 20, start + size - 1]) {
        const around = fdes.filter((fde) => Math.abs(fde.start - address) < 100);
        expect(foundOffset(table, address)).toBe(expectedOffset(around, address));
      }
    expect(table.find(2 ** 31 - 100_001)).toBe(0);
    expect(table.find(2 ** 31 + 100_100)).toBe(0);
  });

  it("cut rows that are too long for an extent", () => {
    const object = drawCfiObject("eh_frame", drawCfi("eh_frame", {}, [fdeOf(0x1000, 200_000, [])]));
    const table = UnwindTable.fromObject(object, { form: "lul" });
    expect(table.entryCount).toBe(4);
    expect(foundOffset(table, 0x1000 + 199_999)).toBe(8);
    expect(table.find(0x1000 + 200_000)).toBe(0);
    expect(cfiStatistics(object)!.lul.entries).toBe(4);
  });

  it("prefer .eh_frame, and take what only .debug_frame has", () => {
    const statistics = cfiStatistics(
      drawCfiObject("debug_frame", drawCfi("debug_frame", {}, [fdeOf(0x1000, 16, [4])])),
    )!;
    expect(statistics).toMatchObject({ fdes: 1, rows: 2, simpleRows: 2, expressionRows: 0, gaps: 0 });
    expect(statistics.sections.map(({ name }) => name)).toEqual([".debug_frame"]);
  });
});
