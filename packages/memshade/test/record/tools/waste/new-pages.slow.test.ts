import { platform } from "node:process";
import { describe, expect, it } from "vitest";
import { instrument, readInstrumentedInfo, type WasteOptions } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { L, malloc, S, text, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "frames of contexts": { contexts: true },
};
const PAGE = 4096;
const BLOCK = 2 ** 24;

/** Fills a new block of 16 MiB, one word per page. */
const FILLS = wat(`(module (memory (export "memory") 300)
  (func $malloc (export "malloc") (param i32) (result i32) (i32.const 65536))
  (func (export "free") (param i32))
  (func (export "fill") (local $at i32) (local $end i32)
    (local.set $end (i32.add (local.tee $at (call $malloc (i32.const ${BLOCK}))) (i32.const ${BLOCK})))
    (loop $next
      (i32.store (local.get $at) (local.get $at))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const ${PAGE}))) (local.get $end))))))`);

function faultsOf(module: Uint8Array): number {
  const { fill } = new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource)).exports;
  const before = process.resourceUsage().minorPageFault;
  (fill as () => void)();
  return process.resourceUsage().minorPageFault - before;
}

for (const [engine, waste] of Object.entries(ENGINES))
  describe(`pages of new blocks, ${engine}`, () => {
    it("hold what they held", () => {
      const run = new WasteRun(
        [
          S("A", 131072, 8, 7),
          malloc(131072, 70_000),
          L("B", 131072, 8),
          S("C", 196608, 8, 9),
          L("D", 196608, 8),
        ],
        { waste, pages: 4 },
      );
      expect(run.store("A")).toMatchObject({ dead_deallocated: 8 });
      expect(run.load("B")).toMatchObject({ nof_loads: 1 });
      expect(run.store("C")).toMatchObject({ bytes_read: 8 });
      const value = (at: number) =>
        `(if (i64.ne (i64.load (i32.const ${at})) (i64.const 7)) (then unreachable))`;
      new WasteRun([S("A", 131072, 8, 7), malloc(131072, 70_000), text(value(131072))], { waste, pages: 4 });
    });

    it("may end behind the memory, and lie far apart or before others", () => {
      const run = new WasteRun(
        [
          malloc(PAGE - 8, 16),
          malloc(65536, 4 * 65536),
          S("A", 65536, 4),
          malloc(2 * PAGE, 70_000),
          S("B", 65536, 4),
        ],
        { waste, pages: 2 },
      );
      expect(run.store("A")).toMatchObject({ dead_deallocated: 4 });
      expect(run.store("B")).toMatchObject({ dead_exit: 4 });
    });

    it.skipIf(platform !== "linux")("cost one page fault each", () => {
      const { bytes } = instrument(FILLS, { tools: ["waste"], waste });
      const info = readInstrumentedInfo(new WebAssembly.Module(bytes as BufferSource));
      expect(JSON.stringify(info)).toContain('"waste"');
      // For one page of the program there are two pages of ids.
      const pages = (BLOCK / PAGE) * 3;
      expect(faultsOf(bytes)).toBeLessThan(pages * 1.3);
    });
  });
