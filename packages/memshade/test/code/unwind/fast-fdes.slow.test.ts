import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawCfi, drawCfiObject } from "./cfi-picture.ts";
import { InterpretedRows } from "./interpreted-rows.ts";

const operand = fc.oneof(fc.nat(40), fc.nat(255));
/** The most frequent instructions with operands of all sizes, and others with small operands. */
const instruction = fc.oneof(
  fc.nat(0x3f).map((step) => [0x40 | step]),
  fc.tuple(fc.nat(17), operand).map(([register, offset]) => [0x80 | register, offset]),
  fc.nat(17).map((register) => [0xc0 | register]),
  operand.map((offset) => [0x0e, offset]),
  fc.tuple(operand, operand).map(([low, high]) => [0x0e, 0x80 | low, high]),
  fc.tuple(operand, operand).map(([register, offset]) => [0x0c, register, offset]),
  operand.map((register) => [0x0d, register]),
  fc.constantFrom([0x0a], [0x0b], [0x2d], [0x2e, 0x10], [0x2e, 0x90, 1], [0x00]),
  operand.map((step) => [0x02, step]),
  fc.tuple(operand, operand).map(([low, high]) => [0x03, low, high]),
  fc.tuple(operand, operand).map(([low, high]) => [0x04, low, 0, 0, high]),
  fc
    .tuple(fc.integer({ min: 2, max: 0x3f }), operand, operand)
    .map(([op, first, second]) => [op, first & 0x7f, second & 0x7f]),
);
/**
 * Replaces DW_CFA_set_loc (1), whose meaning depends on its position. No byte may be 1, because an operand of the wrong length turns later
 * bytes into instructions.
 */
const withoutSetLoc = (bytes: readonly number[]) => bytes.map((byte) => (byte === 1 ? 3 : byte));
const programs = fc.array(
  // Truncated instructions read the padding, whose size differs between the two forms: here both have enough.
  fc
    .array(instruction, { maxLength: 30 })
    .map((list) => [...withoutSetLoc(list.flat()), ...Array(300).fill(0)]),
  { minLength: 1, maxLength: 8 },
);

function rowsOf(
  kind: "eh_frame" | "debug_frame",
  is64Bit: boolean,
  programs: readonly (readonly number[])[],
): string[] {
  const fdes = programs.map((program, i) => ({ start: 0x1000 + 0x1_0000 * i, size: 0x8000, program }));
  const interpreted = new InterpretedRows(drawCfiObject(kind, drawCfi(kind, { is64Bit }, fdes)));
  return Array.from(
    { length: interpreted.rows.count },
    (_, row) => `${interpreted.rows.starts[row]} ${interpreted.text(row)}`,
  );
}

describe("FDEs that are read the fast way", () => {
  for (const kind of ["eh_frame", "debug_frame"] as const)
    it(`have the rows that they have in 64-bit DWARF, which is read the other way (.${kind})`, () => {
      fc.assert(
        fc.property(programs, (list) => {
          expect(rowsOf(kind, false, list)).toEqual(rowsOf(kind, true, list));
        }),
        { numRuns: 300 },
      );
    });

  it("stand before, behind and between others of any length", () => {
    const steps = (count: number) =>
      Array.from({ length: count }, (_, i) => [0x41, 0x0e, 8 + (i % 100)]).flat();
    // The long FDEs have more instructions than the window in which the others are read.
    const fdes = [3, 40_000, 1, 2, 30_000, 5].map((count, i) => ({
      start: 0x1000 + 0x10_0000 * i,
      size: 0x10_0000,
      program: steps(count),
    }));
    const expected = fdes.flatMap(({ start }, i) =>
      Array.from({ length: [4, 40_001, 2, 3, 30_001, 6][i] }, (_, row) => start + row),
    );
    const { rows } = new InterpretedRows(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, fdes)));
    expect([...rows.starts.subarray(0, rows.count)]).toEqual(expected);
  });
});
