import { describe, expect, it } from "vitest";
import { writeFrameTable } from "../../../src/code/objects/elf/write/frame-table.ts";
import { FunctionStarts, type ObjectFile } from "../../../src/code/objects/index.ts";

const HEADER = 0x1000;
const CODE = 0x2000;

function objectWith(
  starts: readonly number[],
  change: (header: Uint8Array) => void = () => undefined,
): ObjectFile {
  const functions = starts.map((start) => ({ start, end: start + 16, rows: [], saved: [] }));
  const table = writeFrameTable(functions, CODE, HEADER);
  change(table);
  const header = { type: 0x6474e550, address: HEADER, fileSize: table.length };
  return { programHeaders: [header], bytesAt: () => table } as unknown as ObjectFile;
}

describe("where functions begin", () => {
  it("is known of each address by the table that linkers make", () => {
    const starts = FunctionStarts.fromObject(objectWith([0, 0x40, 0x100]))!;
    const of = [0, 0x3f, 0x40, 0x50, 0xffff].map((offset) => starts.startOf(CODE + offset)! - CODE);
    expect(of).toEqual([0, 0, 0x40, 0x40, 0x100]);
    expect(starts.startOf(CODE - 1)).toBeUndefined();
  });

  it("is not known without a table, or with one in another form, or a damaged one", () => {
    expect(FunctionStarts.fromObject({ programHeaders: [] } as unknown as ObjectFile)).toBeUndefined();
    expect(FunctionStarts.fromObject(objectWith([0], (header) => header.fill(0xff, 3, 4)))).toBeUndefined();
    const announced = FunctionStarts.fromObject(objectWith([0, 0x40], (header) => header.fill(0xff, 8, 12)))!;
    expect(() => announced.startOf(CODE + 0x40)).not.toThrow();
  });
});
