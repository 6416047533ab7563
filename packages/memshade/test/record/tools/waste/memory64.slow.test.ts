import { describe, expect, it } from "vitest";
import { instrument, type WasteOptions } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { behaviourOf, type Call } from "../../../support/behaviour.ts";
import { L, runWaste, S, text, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 1 },
  "writers and readers": { pairs: true },
};

/** Accesses beyond the memory and beyond 32-bit addresses: name → body. */
const BEYOND: Readonly<Record<string, string>> = {
  negative: "(i64.store (i64.const -8) (i64.const 1))",
  negative_plus: "(i32.store offset=16 (i64.const -8) (i32.const 1))",
  above_4g: "(i32.store (i64.const 0x100000010) (i32.const 1))",
  far_offset: "(i32.store offset=0x100000000 (i64.const 16) (i32.const 1))",
  high_local: "(i32.store (i64.add (local.get 0) (i64.const 0x100000000)) (i32.const 1))",
  load: "(drop (v128.load (i64.or (local.get 0) (i64.const 0x700000000))))",
  rmw: "(drop (i32.atomic.rmw.add (i64.const 0x100000010) (i32.const 1)))",
  unaligned: "(drop (i32.atomic.load (i64.const 0x100000001)))",
  unaligned_sum: "(i32.atomic.store offset=16 (i64.const -15) (i32.const 1))",
  fill: "(memory.fill (i64.const 0x100000010) (i32.const 1) (i64.const 4))",
  copy: "(memory.copy (i64.const 0x100000010) (i64.const 16) (i64.const 4))",
  long_copy: "(memory.copy (i64.const 32) (i64.const 16) (i64.const 0x100000004))",
  init: "(memory.init $d (i64.const 0x100000010) (i32.const 0) (i32.const 4))",
};

function expectSame(module: Uint8Array, calls: readonly Call[], waste: WasteOptions): void {
  const run = (bytes: Uint8Array) => {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
    return behaviourOf(instance, calls, { imports: {} });
  };
  expect(run(instrument(module, { tools: ["waste"], waste }).bytes)).toEqual(run(module));
}

for (const [engine, waste] of Object.entries(ENGINES))
  describe(`a memory with 64-bit addresses, ${engine}`, () => {
    it("traps where it did, and counts nothing of what traps", () => {
      const module = wat(`(module (memory (export "memory") i64 1) (data $d "1234")
        ${Object.entries(BEYOND)
          .map(([name, body]) => `(func (export "${name}") (param i64) ${body})`)
          .join("\n")})`);
      const calls: Call[] = Object.keys(BEYOND).map((name) => [name, 16n]);
      expectSame(module, calls, waste);
      for (const body of Object.values(BEYOND)) {
        const traps = body.replaceAll("(local.get 0)", "(i64.const 16)");
        const of = new WasteRun([S("A", 16, 4), text(traps)], {
          waste,
          memory64: true,
          fields: '(data $d "1234")',
          traps: true,
        });
        expect(of.store("A"), body).toMatchObject({ nof_stores: 1, dead_exit: 4 });
        expect(of.file.stores, body).toHaveLength(1);
        expect(of.file.loads, body).toHaveLength(0);
      }
    });

    it("grows as it did, and new pages are zeros", () => {
      const module = wat(`(module (memory (export "memory") i64 1 4)
        (func (export "grow") (param i64) (result i64 i64) (memory.grow (local.get 0)) (memory.size)))`);
      const calls: Call[] = [1n, 0n, -1n, 0x100000001n, 0xffffffffn, 3n, 2n].map((pages) => ["grow", pages]);
      expectSame(module, calls, waste);
      const of = new WasteRun(
        [text("(drop (memory.grow (i64.const 1)))"), S("A", 65536, 4, 0), L("B", 65536, 4)],
        {
          waste,
          memory64: true,
        },
      );
      expect(of.store("A")).toMatchObject({ nof_silent: 1, bytes_read: 4 });
    });

    it("segments are put where their expressions say", () => {
      const of = new WasteRun([L("A", 16, 4), L("A", 16, 4), S("B", 16, 4, 7)], {
        waste,
        memory64: true,
        fields: '(data (i64.const 16) "\\07\\00\\00\\00")',
      });
      expect(of.load("A")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
      expect(of.store("B")).toMatchObject({ nof_silent: 1 });
      const passive = { M: "(memory.init $d (i64.const 32) (i32.const 1) (i32.const 2))" };
      const put = new WasteRun([text("(call $M)", passive), L("A", 32, 2)], {
        waste,
        memory64: true,
        fields: '(data $d "1234")',
      });
      expect(put.store("M")).toMatchObject({ bytes_written: 2, bytes_read: 2 });
    });

    it("follows loops and frames", () => {
      const { stores } = runWaste(
        wat(`(module (memory (export "memory") i64 1) (global $__stack_pointer (mut i64) (i64.const 4096))
          (func $f (local $p i64) (local $i i64)
            (global.set $__stack_pointer (local.tee $p (i64.sub (global.get $__stack_pointer) (i64.const 64))))
            (loop $next
              (i32.store offset=8 (i64.add (local.get $p) (local.get $i)) (i32.wrap_i64 (local.get $i)))
              (local.set $i (i64.add (local.get $i) (i64.const 4)))
              (br_if $next (i64.lt_u (local.get $i) (i64.const 40))))
            (drop (i64.load offset=8 (local.get $p)))
            (global.set $__stack_pointer (i64.add (local.get $p) (i64.const 64))))
          (func (export "_start") (call $f) (call $f)))`),
        waste,
      );
      const sum = (key: keyof (typeof stores)[number]) =>
        stores.reduce((all, one) => all + Number(one[key]), 0);
      expect([sum("nof_stores"), sum("bytes_written"), sum("nof_silent")]).toEqual([20, 80, 0]);
      expect([sum("bytes_read"), sum("dead_deallocated")]).toEqual([16, 64]);
    });
  });
