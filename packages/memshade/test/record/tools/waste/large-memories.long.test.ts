import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { free, L, malloc, realloc, S, WasteRun } from "./events.ts";

const MIB = 2 ** 20;
const PAGES = 750 * 16;
const HIGH = 749 * MIB;
/** One engine for each layout of tables: the scan of such a memory at the end takes seconds. */
const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "writers and readers by context": { objects: true, contexts: true },
};

describe("a memory of 750 MiB", () => {
  for (const [engine, waste] of Object.entries(ENGINES))
    it(`is followed to its end: ${engine}`, () => {
      const run = new WasteRun(
        [
          S("A", 64, 8),
          S("A", HIGH, 8),
          S("B", HIGH + 4, 4),
          L("C", HIGH, 4),
          L("C", HIGH, 4),
          malloc(HIGH + 64, 16),
          S("D", HIGH + 64, 8),
          realloc(HIGH + 64, 128, 32),
          L("E", 128, 4),
          free(128),
          S("F", PAGES * 65536 - 4, 4),
        ],
        { waste, pages: PAGES },
      );
      expect(run.file.notTracked).toEqual([]);
      expect(run.store("A")).toMatchObject({ bytes_read: 4, dead_overwritten: 4, dead_exit: 8 });
      expect(run.store("B")).toMatchObject({ dead_exit: 4 });
      expect(run.load("C")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
      expect(run.store("D")).toMatchObject({ bytes_read: 4, dead_deallocated: 4 });
      expect(run.store("F")).toMatchObject({ dead_exit: 4 });
    });
});
