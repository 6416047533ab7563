import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { WORKING_SET_FILE } from "../../../src/runs/working-set.ts";
import { accessesBySize } from "./support/accesses.ts";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";

/** Bytes that each function's instruction writes and reads, and its silent stores. */
const REACHED = {
  copyBytes: { written: 101, read: 101, silent: 0 },
  copyWordsBack: { written: 202, read: 202, silent: 0 },
  copyOne: { written: 8, read: 8, silent: 0 },
  copyNothing: { written: 0, read: 0, silent: 0 },
  // Writes zeros over the system's zeros, and others.
  copyShort: { written: 400, read: 400, silent: 1 },
  copyAgain: { written: 300, read: 300, silent: 1 },
  copyChanged: { written: 300, read: 300, silent: 0 },
  copyOver: { written: 300, read: 300, silent: 1 },
  fill: { written: 400, read: 0, silent: 0 },
  // Bytes beyond the fill of all lines.
  fillBack: { written: 400 + 64 * 20_000, read: 0, silent: 0 },
  fillAgain: { written: 400, read: 0, silent: 1 },
  take: { written: 0, read: 160, silent: 0 },
  takeBack: { written: 0, read: 40, silent: 0 },
  // Bytes of two blocks.
  findEnd: { written: 0, read: 12, silent: 0 },
  // Bytes 400 down to 80, inclusive.
  findBack: { written: 0, read: 324, silent: 0 },
  // The blocks differ in byte 41; one byte of each was read.
  compare: { written: 0, read: 2 * 41, silent: 0 },
  compareBack: { written: 0, read: 2 * 120, silent: 0 },
  // The code behind the fault never ran.
  fillUntilFault: { written: 0, read: 0, silent: 0 },
  findOrNot: { written: 0, read: 100, silent: 0 },
};

/** Every block is written once, 512 bytes; then one access for every 8 bytes reached. */
const WRITTEN = 512;
const of = (bytes: number) => WRITTEN + Math.ceil(bytes / 8);
const ACCESSES = [
  of(101),
  of(101),
  of(202),
  of(202),
  of(8),
  of(8),
  of(0),
  of(0),
  of(0),
  of(0),
  of(300),
  of(300),
  of(300),
  of(300) + 2,
];
/** Accesses of functions between which the C library does no work. */
const LATER = { 1016: of(400), 1018: of(400), 1023: of(160), 1025: of(40), 1032: of(120), 1033: of(120) };

describe.skipIf(!canCompile)("string instructions of a native program", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-strings-"));
  const program = join(folder, "strings");
  beforeAll(() => compileProgram("strings.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  const record = (tool: string, ...options: string[]): string => {
    const out = join(folder, [tool, ...options].join(""));
    const { stdout } = memshadeRun(folder, ["--quiet", "--tool", tool, ...options, "--out", out, program]);
    // Remaining counts: of −1 (twice), 200, 2⁴⁰, and of an instruction that never began.
    expect(stdout).toBe(`${2 * (-1 - 6) + 200 - 81 + 2 ** 40 - 41 + 1 + (-100 + 1)}\n`);
    return out;
  };
  const wasteOf = (...options: string[]): WasteFile =>
    JSON.parse(readFileSync(join(record("waste", ...options), "waste.json"), "utf8"));

  const reachedIn = ({ stores, loads }: WasteFile) => {
    const sum = <T extends { ips: WasteFile["loads"][0]["ips"]; class: string }>(
      all: readonly T[],
      name: string,
      figure: (one: T) => number,
    ) =>
      all
        .filter((one) => one.ips[0].function === name && one.class === "copy")
        .reduce((before, one) => before + figure(one), 0);
    const figures = (name: string) => ({
      written: sum(stores, name, (one) => one.bytes_written),
      read: sum(loads, name, (one) => one.bytes_loaded),
      silent: sum(stores, name, (one) => one.nof_silent),
    });
    return Object.fromEntries(Object.keys(REACHED).map((name) => [name, figures(name)]));
  };

  it.each([[], ["--contexts"], ["--include-stack"]])(
    "write and read what they have come to, in both directions, and are silent if all is there: %s",
    (...options) => {
      expect(reachedIn(wasteOf(...options))).toEqual(REACHED);
    },
  );

  it("leave dead what a search did not reach", () => {
    const [{ bytes_written, dead_overwritten }] = wasteOf().stores.filter(
      ({ ips }) => ips[0].function === "writeScanned",
    );
    expect({ bytes_written, dead_overwritten }).toEqual({ bytes_written: 8192, dead_overwritten: 4090 });
  });

  it("count an access for every 8 bytes that they have reached", () => {
    const all = accessesBySize(record("heap"));
    const found = ACCESSES.map((_, i) => all.get(1000 + i)?.accesses);
    expect(found).toEqual(ACCESSES);
    const later = Object.fromEntries(
      Object.keys(LATER).map((size) => [size, all.get(Number(size))?.accesses]),
    );
    expect(later).toEqual(LATER);
  });

  it("mark the lines that they have reached, backwards too", () => {
    const [{ total }] = WORKING_SET_FILE.load(record("workingset")).instances;
    expect(total.written).toBeGreaterThanOrEqual(20_000);
    expect(total.written).toBeLessThan(20_000 + 1000);
    expect(total.lines).toBeLessThan(20_000 + 2000);
  });
});
