import { describe, expect, it } from "vitest";
import { createPaint } from "../../../src/report/terminal/paint.ts";
import { wasteReport } from "../../../src/report/terminal/waste-report.ts";
import { wasteTable } from "../../../src/report/terminal/waste-table.ts";
import { load, store, wasteOf } from "../../analyses/waste/waste-picture.ts";

const SCREEN = { paint: createPaint(false), width: 80, isWide: false };

const file = wasteOf({
  stores: [
    store("parse", 88, { class: "fill", nof_stores: 100, bytes_written: 409_600, dead_overwritten: 401_408 }),
    store("read_all", 12, {
      nof_stores: 500,
      bytes_written: 401_408,
      bytes_read: 401_408,
      nof_silent: 400,
      bytes_silent: 3200,
    }),
    store("memcpy", 5, { nof_stores: 100, bytes_written: 4096, dead_overwritten: 2048 }),
  ],
  loads: [load("walk", 30, { nof_loads: 1000, nof_silent: 900, bytes_loaded: 8000 })],
  pairs: [{ kind: "overwritten", first: 0, second: 1, bytes: 393_216, operations: 98 }],
});

describe("the report of waste", () => {
  const text = wasteReport(file, { ...SCREEN, input: "out" });

  it("says who overwrites what in how many cases, and what to try", () => {
    const flowing = text.replace(/\s+/g, " ");
    expect(flowing).toContain(
      "392 KiB stored by parse (parse.c:88) are overwritten before anything reads them, 98.0 % of them by read_all (read_all.c:12)",
    );
    expect(flowing).toContain("→ Drop the clear: read_all (read_all.c:12) fills the memory anyway.");
    expect(flowing).toContain(
      "400 of the 500 stores of read_all (read_all.c:12) write what is there already (80.0 %)",
    );
    expect(flowing).toContain("900 of the 1,000 loads of walk (walk.c:30) load again what has not changed");
  });

  it("groups libraries apart from findings", () => {
    const [findings, libraries] = text.split("In libraries");
    expect(findings).not.toContain("memcpy");
    expect(libraries).toContain("the C library: 2.00 KiB at 1 place, most at memcpy (memcpy.c:5)");
  });

  it("keeps to the width of the terminal", () => {
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe("rankings of waste", () => {
  it("show the part of all and of the site's own", () => {
    const text = wasteTable(file, { ...SCREEN, by: "dead", order: "largest", rows: 1 });
    expect(text).toMatch(/392 KiB {4}99\.5 % {4}98\.0 % {7}100 {2}parse \(parse\.c:88\)/);
    expect(text).toContain("and 1 more site");
  });

  it("say when there is nothing", () => {
    const text = wasteTable(wasteOf({}), { ...SCREEN, by: "silent", order: "largest", rows: 5 });
    expect(text).toContain("Nothing to rank: there are no silent stores.");
  });
});
