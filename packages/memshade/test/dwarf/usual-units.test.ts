import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../src/bytes/errors.ts";
import { isTypeUnit } from "../../src/dwarf/dwarf-file.ts";
import { DwarfFile, SubroutineIndex, type Unit } from "../../src/dwarf/index.ts";
import { type LineHeader, readLineHeader } from "../../src/dwarf/line-header.ts";
import { runLineProgram } from "../../src/dwarf/line-program.ts";
import { LineRows } from "../../src/dwarf/line-rows.ts";
import { visitRanges } from "../../src/dwarf/ranges.ts";
import { ROW, type SubroutineColumns } from "../../src/dwarf/subroutine-columns.ts";
import { readSubroutines } from "../../src/dwarf/subroutine-entries.ts";
import { findUsualLine, runUsualLineProgram } from "../../src/dwarf/usual-line-program.ts";
import { scanUsualUnits } from "../../src/dwarf/usual-unit-scan.ts";
import { readUsualSubroutines } from "../../src/dwarf/usual-units.ts";
import { nodeDecompressors } from "../../src/load/objects.ts";
import { openObject } from "../../src/objects/index.ts";
import { sharedPath } from "../shared-path.ts";

// `../shared` has programs too large to be kept here; the others are always there.
const root = fileURLToPath(new URL("../..", import.meta.url));

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

/** All that columns say, but for how names were found. */
function answersOf(unit: Unit, { rows, starts, intervals }: SubroutineColumns) {
  const addresses = [...starts].filter((start) => !Number.isNaN(start));
  const around = addresses.flatMap((start) => [
    start - 1,
    start,
    start + 1,
    start + 7,
    start + 64,
    start + 1000,
  ]);
  return {
    rows: [...rows],
    starts: [...starts],
    found: around.map((at) => intervals.find(at)),
    unit: unit.header,
  };
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

function lineRowsOf(unit: Unit, run: typeof runLineProgram | typeof runUsualLineProgram) {
  const line = unit.file.section(".debug_line");
  if (line === undefined || unit.attributes.lineOffset === undefined) return undefined;
  const rows = new LineRows();
  if (run(line, lineHeaderOf(unit), rows) === false) return undefined;
  rows.finish();
  return rows;
}

/** Addresses in functions, at their edges, and between them. */
function codeOf(index: SubroutineIndex): number[] {
  const starts = Array.from({ length: index.length }, (_, at) => index.startOf(at) ?? 0);
  return [...new Set(starts.flatMap((start) => [start - 1, start, start + 5, start + 40]))];
}

/** What is read for one address alone is what is known of it where all is read. */
function expectAlone(unit: Unit, all: SubroutineIndex, address: number): number {
  const lines = lineRowsOf(unit, runUsualLineProgram);
  const line =
    lines && findUsualLine(unit.file.section(".debug_line")!, lineHeaderOf(unit), address, () => undefined);
  if (line !== null) expect(line).toEqual(lines?.find(address, -1, false));
  const alone = readUsualSubroutines(unit, address);
  if (alone === undefined) return 0;
  expect(alone.intervals.find(address)).toBe(all.innermostAt(address));
  const index = new SubroutineIndex(unit, address);
  const describe = (from: SubroutineIndex) =>
    from
      .chainAt(address)
      .map((at) => [from.offsetOf(at), from.callLineOf(at), from.originOf(at), from.nameOf(at, true)]);
  const expected = describe(all);
  expect(describe(index)).toEqual(expected);
  return expected.length;
}

describe("usual units", () => {
  it("there are programs to compare on", () => {
    expect(programs.length).toBeGreaterThanOrEqual(2);
  });

  it.each(programs)("have the same functions in $file as by the reader of all forms", ({ dwarf }) => {
    let usual = 0;
    const units = compilationUnits(dwarf);
    for (const unit of units) {
      const columns = readUsualSubroutines(unit);
      if (columns === undefined) continue;
      usual++;
      expect(answersOf(unit, columns)).toEqual(answersOf(unit, readSubroutines(unit)));
    }
    if (!dwarf.isSplit && units.every((unit) => unit.attributes.dwoName === undefined))
      expect(usual).toBe(units.length);
  });

  it.each(programs)("have the same names in $file as by their entries", ({ dwarf }) => {
    for (const unit of compilationUnits(dwarf)) {
      const index = new SubroutineIndex(unit);
      for (let at = 0; at < index.length; at++) {
        const die = unit.dieAt(index.offsetOf(at));
        const name = die.inheritedText([0x03]);
        const linkage = die.inheritedText([0x2007]) ?? die.inheritedText([0x6e]) ?? name;
        const known = [index.nameOf(at, true), index.nameOf(at, false)];
        expect(known).toEqual([known[0] === null ? null : linkage, known[1] === null ? null : name]);
      }
    }
  });

  it.each(programs)("have the same ranges in $file as by their own entries", ({ dwarf }) => {
    const found: number[][] = [];
    const scanned = scanUsualUnits(dwarf);
    if (scanned === undefined) return;
    scanned.visit((unit, low, high) => found.push([unit, low, high]));
    for (const [, low, high] of found.slice(0, 200)) {
      for (const address of [low - 1, low, high - 1, high]) {
        const around: number[] = [];
        scanned.visitAround(address, (unit) => around.push(unit));
        const all = found
          .filter(([, start, stop]) => start <= address && address < stop)
          .map(([unit]) => unit);
        expect(around).toEqual([...new Set(all)]);
      }
    }
    const expected: number[][] = [];
    for (const unit of compilationUnits(dwarf)) {
      const take = (low: number, high: number) => expected.push([unit.header.offset, low, high]);
      unit.fromOwnEntry((die) => visitRanges(unit, die, take));
    }
    expect(found).toEqual(expected);
  });

  it.each(programs)("have the same lines in $file as by the reader of all instructions", ({ dwarf }) => {
    for (const unit of compilationUnits(dwarf)) {
      const usual = lineRowsOf(unit, runUsualLineProgram);
      if (usual === undefined) continue;
      const all = lineRowsOf(unit, runLineProgram)!;
      expect(usual.count).toBe(all.count);
      const { rows, starts } = readSubroutines(unit);
      for (let at = 0; at < rows.length / ROW; at++) {
        for (let address = starts[at]; address < starts[at] + 300; address++)
          expect(usual.find(address, -1, false)).toEqual(all.find(address, -1, false));
      }
    }
  });

  it.each(programs)("have the same functions and lines in $file at one address alone", ({ dwarf }) => {
    let found = 0;
    for (const unit of compilationUnits(dwarf).slice(0, 40)) {
      const all = new SubroutineIndex(unit);
      const addresses = codeOf(all).slice(0, 60);
      for (const address of addresses) found += expectAlone(unit, all, address);
    }
    const isSplit = dwarf.isSplit || dwarf.units.some((unit) => unit.attributes.dwoName !== undefined);
    if (!isSplit) expect(found).toBeGreaterThan(0);
  });

  it("are left to the other reader, or read alike, where bytes are changed", () => {
    const file = join(root, "../../node_modules/web-tree-sitter/debug/web-tree-sitter.wasm");
    const original = readFileSync(file);
    const sections = openObject(new Uint8Array(original)).sections.filter(({ name }) =>
      [".debug_info", ".debug_abbrev", ".debug_ranges", ".debug_rnglists", ".debug_line"].includes(name),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
          minLength: 1,
          maxLength: 8,
        }),
        (changes) => {
          const bytes = new Uint8Array(original);
          for (const [which, where, value] of changes) {
            const { offset, size } = sections[which % sections.length];
            bytes[offset + Math.floor(where * size)] = value;
          }
          const dwarf = dwarfOf(bytes)!;
          for (const unit of compilationUnits(dwarf).slice(0, 12)) {
            const columns = readUsualSubroutines(unit);
            if (columns === undefined) continue;
            expect(answersOf(unit, columns)).toEqual(answersOf(unit, readSubroutines(unit)));
            const all = new SubroutineIndex(unit);
            for (const address of codeOf(all).slice(0, 8)) expectAlone(unit, all, address);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
