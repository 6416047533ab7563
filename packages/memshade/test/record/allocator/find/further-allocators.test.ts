import { describe, expect, it } from "vitest";
import { readNames } from "../../../../src/code/wasm/index.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { readAllocatorOption } from "../../../../src/record/allocator/find/option.ts";
import { moduleFromText, withCustomSection, withoutNames } from "./support.ts";

const ARENAS = moduleFromText(`(module (memory 1)
  (func $malloc (export "malloc") (param i32) (result i32) (i32.const 8))
  (func $free (export "free") (param i32))
  (func $_emalloc (export "_emalloc") (param i32) (result i32) (local.get 0))
  (func $_efree (export "_efree") (param i32))
  (func $_erealloc (param i32 i32) (result i32) (local.get 0))
  (func $_ecalloc (param i32 i32) (result i32) (local.get 0))
  (func $zone_alloc (param $zone i32) (param $size i32) (result i32) (local.get 0))
  (func $zone_free (param $zone i32) (param i32))
  (func $zone_realloc (param i32 i32 i32) (result i32) (local.get 0))
  (func $layer_malloc (param i32) (result i32)
    (i32.store (call $malloc (i32.add (local.get 0) (i32.const 8))) (local.get 0))
    (i32.const 8))
  (func $layer_free (param i32) (call $free (i32.sub (local.get 0) (i32.const 8))))
  (func $float_alloc (param f32) (result i32) (i32.const 0))
  (func $float_free (param i32))
  (func $other_alloc (param i32) (result i32) (i32.const 0))
  (func $work (export "work")
    (call $_efree (call $_emalloc (i32.const 1)))
    (call $layer_free (call $layer_malloc (i32.const 1)))
    (call $zone_free (i32.const 0) (call $zone_alloc (i32.const 0) (i32.const 8))))
  (func (export "more") (call $_efree (call $_emalloc (i32.const 2)))))`);

describe("functions that look like further allocators", () => {
  it("are offered as what to type, most called first, and fit", () => {
    const { further } = findAllocator(ARENAS);
    expect(further).toEqual([
      "malloc=_emalloc,free=_efree,realloc=_erealloc,calloc=_ecalloc",
      "malloc=zone_alloc:1,free=zone_free:1,realloc=zone_realloc:1:2",
      // The layer takes each of its blocks from malloc, so its blocks are already distinct.
      "malloc=layer_malloc,free=layer_free",
    ]);
    for (const text of further)
      expect(readAllocatorOption(text, ARENAS, readNames(ARENAS).functions).functions.length).toBeGreaterThan(
        1,
      );
  });

  it("are known by their exports where there are no names", () => {
    const bare = { ...withoutNames(ARENAS), exports: ARENAS.exports };
    expect(findAllocator(bare).further).toEqual(["malloc=_emalloc,free=_efree"]);
  });

  it("are offered by their index where a name is that of several", () => {
    const bare = moduleFromText(
      `(module (memory 1)
        (func (export "malloc") (param i32) (result i32) (i32.const 8))
        (func (export "free") (param i32))
        (func (param i32) (result i32) (local.get 0)) (func (param i32))
        (func (param i32) (result i32) (local.get 0)))`,
      { names: false },
    );
    const names = ["malloc", "free", "pool_alloc", "pool_free", "pool_alloc"];
    const entries = names.flatMap((name, i) => [i, name.length, ...Buffer.from(name)]);
    const module = withCustomSection(bare, "name", [1, entries.length + 1, names.length, ...entries]);
    const { further } = findAllocator(module);
    expect(further).toEqual(["malloc=#2,free=pool_free"]);
    expect(readAllocatorOption(further[0], module, readNames(module).functions).functions[0].index).toBe(2);
  });

  it("are not offered to who has named an allocator", () => {
    expect(findAllocator(ARENAS, { allocator: "malloc=zone_alloc:1,free=zone_free:1" }).further).toEqual([]);
  });
});
