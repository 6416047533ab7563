import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { S, text, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "writers and readers": { pairs: true },
  "writers and readers by context": { pairs: true, contexts: true },
};

const BLOCK = 64;
const TOTAL = 32;
const ASKED = `(global.set $next (i32.const ${BLOCK})) (drop (call $xmalloc (i32.const 8)))`;
/** Wrapper of malloc with side effects: it counts bytes, and keeps its operand in a frame. */
const XMALLOC = {
  xmalloc: `(param $bytes i32) (result i32) (local $result i32)
    (global.set $__stack_pointer (i32.sub (global.get $__stack_pointer) (i32.const 16)))
    (i32.store (global.get $__stack_pointer) (local.get $bytes))
    (i32.store (i32.const ${TOTAL}) (i32.add (i32.load (i32.const ${TOTAL})) (local.get $bytes)))
    (local.set $result (call $malloc (local.get $bytes)))
    (global.set $__stack_pointer (i32.add (global.get $__stack_pointer) (i32.const 16)))
    (local.get $result)`,
};
const ask = (name: string) => text(`(call $${name})`, { [name]: ASKED, ...XMALLOC });

for (const [engine, waste] of Object.entries(ENGINES))
  describe(`what only passes requests on to the allocator, ${engine}`, () => {
    it("stores and loads as the rest of the program", () => {
      const { file } = new WasteRun([ask("one"), ask("two")], { waste });
      const sum = (name: "stores" | "loads", field: string) =>
        file[name]
          .filter(({ ips }) => ips[0].function === "xmalloc")
          .reduce((total, site) => total + Number(site[field as keyof typeof site]), 0);
      expect(sum("stores", "nof_stores")).toBe(4);
      expect(sum("stores", "bytes_read")).toBe(4);
      expect(sum("stores", "dead_deallocated")).toBe(8);
      expect(sum("stores", "dead_exit")).toBe(4);
      expect(sum("loads", "nof_loads")).toBe(2);
    });

    it("has frames, whose memory ends with them", () => {
      // The second store below the stack pointer writes the same value, but a frame has ended in between.
      const below = 4096 - 16;
      const run = new WasteRun([S("leaf", below + 4, 4, 7), ask("one"), S("leaf", below + 4, 4, 7)], {
        waste,
      });
      expect(run.store("leaf")).toMatchObject({ nof_stores: 2, nof_silent: 0, dead_deallocated: 4 });
    });
  });

describe("a block that is asked for by way of another function", () => {
  for (const contexts of [false, true])
    it(`belongs to whoever called that${contexts ? ", in its context" : ""}`, () => {
      const outer = text("(call $outer)", { outer: "(call $one)", one: ASKED, ...XMALLOC });
      const { file } = new WasteRun([outer, ask("two")], { waste: { objects: true, contexts } });
      const sites = file.objects?.map(({ ips }) => ips.map((ip) => ip.function));
      expect(sites?.sort()).toEqual([
        ["one", "outer", "_start"],
        ["two", "_start"],
      ]);
    });

  it("does so also if something else is asked for on the way", () => {
    const XMALLOC = {
      xmalloc: `(param $bytes i32) (result i32)
        (call $note)
        (global.set $next (i32.const ${2 * BLOCK}))
        (call $malloc (local.get $bytes))`,
      note: `(i32.store8 (call $malloc (i32.const 4)) (i32.const 1))
        (call $free (i32.const ${BLOCK}))`,
    };
    const ask = (name: string) => text(`(call $${name})`, { [name]: ASKED, ...XMALLOC });
    for (const contexts of [false, true]) {
      const { file } = new WasteRun([ask("one"), ask("two")], { waste: { objects: true, contexts } });
      const sites = file.objects?.map(({ ips, objects }) => [ips[0]?.function, objects]);
      expect(sites?.sort()).toEqual([
        ["note", 1],
        ["note", 1],
        ["one", 1],
        ["two", 1],
      ]);
    }
  });
});
