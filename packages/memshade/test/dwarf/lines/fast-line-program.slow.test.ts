import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/bytes/errors.ts";
import { ROW } from "../../../src/dwarf/addresses/subroutine-columns.ts";
import { readSubroutines } from "../../../src/dwarf/addresses/subroutine-entries.ts";
import { DwarfFile, type Unit } from "../../../src/dwarf/index.ts";
import { runFastLineProgram } from "../../../src/dwarf/lines/fast-line-program.ts";
import { type LineHeader, readLineHeader } from "../../../src/dwarf/lines/line-header.ts";
import { runLineProgram } from "../../../src/dwarf/lines/line-program.ts";
import { LineRows } from "../../../src/dwarf/lines/line-rows.ts";
import { isTypeUnit } from "../../../src/dwarf/unit-header.ts";
import { nodeDecompressors } from "../../../src/load/objects.ts";
import { openObject } from "../../../src/objects/index.ts";
import { sharedPath } from "../../shared-path.ts";

// `../shared` has programs too large to be kept here; the others are always there.
const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Programs with debug information: built ones of the project, and those of a package. */
const programs = [
  ...["test/symbolize/programs", "test/fixtures"].flatMap((folder) => filesBelow(join(root, folder))),
  join(root, "../../node_modules/web-tree-sitter/debug/web-tree-sitter.wasm"),
  ...["memprof/cpp-inline/v4.exe", "memprof/threads/v5.exe", "memprof/lines/v5.exe"].flatMap(
    (name) => sharedPath(`fixtures/${name}`) ?? [],
  ),
].flatMap((file) => {
  const dwarf = dwarfOf(readFileSync(file));
  return dwarf === undefined ? [] : [{ file: file.slice(root.length), dwarf }];
});

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(c|cc|cpp|h|rs|sh|md|json|txt|ts|wat)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function dwarfOf(bytes: Uint8Array): DwarfFile | undefined {
  try {
    const object = openObject(new Uint8Array(bytes), nodeDecompressors);
    return object.section(".debug_info") === undefined ? undefined : new DwarfFile(object);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

function compilationUnits(file: DwarfFile): Unit[] {
  return file.units.filter((unit) => !isTypeUnit(unit));
}

function lineHeaderOf(unit: Unit): LineHeader {
  return readLineHeader(
    {
      line: unit.file.section(".debug_line")!,
      stringAt: () => "",
      lineStringAt: () => "",
      textAtIndex: () => "",
    },
    unit.attributes.lineOffset!,
    unit.header.addressSize,
  );
}

function lineRowsOf(unit: Unit, run: typeof runLineProgram | typeof runFastLineProgram) {
  const line = unit.file.section(".debug_line");
  if (line === undefined || unit.attributes.lineOffset === undefined) return undefined;
  const rows = new LineRows();
  if (run(line, lineHeaderOf(unit), rows) === false) return undefined;
  rows.finish();
  return rows;
}

describe("line programs on the fast path", () => {
  it("there are programs to compare on", () => {
    expect(programs.length).toBeGreaterThanOrEqual(2);
  });

  it.each(programs)("give the same lines in $file as the reader of all instructions", ({ dwarf }) => {
    for (const unit of compilationUnits(dwarf)) expectSameLines(unit);
  });

  it("are left to the other reader, or read alike, where bytes are changed", () => {
    const file = join(root, "../../node_modules/web-tree-sitter/debug/web-tree-sitter.wasm");
    const original = readFileSync(file);
    const line = openObject(new Uint8Array(original)).sections.find(({ name }) => name === ".debug_line")!;
    let taken = 0;
    const change = fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = new Uint8Array(original);
        for (const [where, value] of changes) bytes[line.offset + Math.floor(where * line.size)] = value;
        for (const unit of compilationUnits(dwarfOf(bytes)!).slice(0, 12)) taken += expectSameLines(unit);
      }),
      { numRuns: 40 },
    );
    expect(taken).toBeGreaterThan(0);
  });
});

/** Whether the fast path takes the unit's program: if so, it gives what the other reader gives. */
function expectSameLines(unit: Unit): number {
  const fast = linesOf(unit, runFastLineProgram);
  if (fast === undefined) return 0;
  const all = lineRowsOf(unit, runLineProgram)!;
  expect(fast.count).toBe(all.count);
  const { rows, starts } = readSubroutines(unit);
  for (let at = 0; at < Math.min(rows.length / ROW, 200); at++) {
    for (let address = starts[at]; address < starts[at] + 300; address++)
      expect(fast.find(address, -1, false)).toEqual(all.find(address, -1, false));
  }
  return 1;
}

/** Undefined where there is no table, or it is not read. */
function linesOf(unit: Unit, run: typeof runLineProgram | typeof runFastLineProgram): LineRows | undefined {
  try {
    return lineRowsOf(unit, run);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
