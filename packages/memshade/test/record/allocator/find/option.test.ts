import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readNames } from "../../../../src/code/wasm/index.ts";
import { UserError } from "../../../../src/ground/bytes/errors.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { readAllocatorOption } from "../../../../src/record/allocator/find/option.ts";
import { fixture, indexOf, moduleFromText, namesOf, pictureOf, withoutNames } from "./support.ts";

const arena = moduleFromText(`(module
  (import "env" "host_alloc" (func $host_alloc (param i32) (result i32)))
  (memory 1)
  (func $arena_alloc (param $arena i32) (param $size i32) (result i32) local.get 0)
  (func $arena_free (param $arena i32) (param $block i32))
  (func $arena_resize (param i32 i32 i32) (result i32) local.get 1)
  (func $grow<int> (export "grow") (param f64) (result i32) i32.const 0)
  (func $first::twin (param i32) (result i32) local.get 0)
  (func $second::twin (param i32) (result i32) local.get 0))`);

const plan = (allocator: string) => findAllocator(arena, { allocator });

describe("--allocator", () => {
  it("hooks what it names, with positions where they differ", () => {
    const found = plan("malloc=arena_alloc:1,free=arena_free:1,realloc=arena_resize:1:2");
    expect(found.how).toBe("option");
    expect(found.needsConfirmation).toBe(false);
    expect(pictureOf(found)).toEqual([
      "malloc arena_alloc size 1",
      "free arena_free pointer 1",
      "realloc arena_resize pointer 1 size 2",
    ]);
  });

  it("takes indices, exports, last identifiers, spaces and several functions of a role", () => {
    const index = indexOf(arena, "arena_alloc");
    expect(pictureOf(plan(`malloc=#${index}:0 , free=arena_free`))).toEqual([
      "malloc arena_alloc size 0",
      "free arena_free pointer 0",
    ]);
    expect(pictureOf(findAllocator(withoutNames(arena), { allocator: `malloc=#${index}:1` }))).toEqual([
      `malloc #${index} size 1`,
    ]);
    expect(pictureOf(plan("malloc=first::twin,malloc=second::twin,free=arena_free:1"))).toHaveLength(3);
    expect(
      pictureOf(findAllocator(fixture("family.wasm"), { allocator: "new=operator new(unsigned long)" })),
    ).toEqual(["new operator new(unsigned long) size 0"]);
  });

  it.each([
    ["", 'expected "malloc=NAME,free=NAME" or "auto,…"'],
    ["malloc", '"malloc" is not of the form malloc=NAME'],
    ["alloc=arena_alloc", '"alloc" is not one of malloc, calloc'],
    ["malloc=", "malloc= names no function"],
    ["malloc=nothing", 'the module has no function "nothing"'],
    ["malloc=#99", "there is no function #99, the module has 7"],
    ["malloc=host_alloc", "host_alloc is imported"],
    ["malloc=#0", "#0 is imported"],
    ["malloc=twin", '2 functions are called "twin": say which by #5, #6'],
    ["malloc=grow", "malloc=grow does not fit a function of type (f64) -> (i32)"],
    ["malloc=arena_alloc:7", "malloc=arena_alloc does not fit"],
    ["malloc=arena_free", "malloc=arena_free does not fit a function of type (i32, i32) -> ()"],
    ["malloc=arena_alloc:0:1", "malloc=arena_alloc takes one position (size)"],
    ["realloc=arena_resize:1", "realloc=arena_resize takes 2 positions (pointer:size)"],
    ["realloc=arena_resize:1:1", "gives one position twice"],
    ["free=arena_free:1", "name a function that allocates, too"],
    ["malloc=first::twin,free=first::twin", "first::twin is given twice (malloc and free)"],
    ["malloc=first::twin,free=#5", "function 5 is given twice (malloc and free)"],
  ])("refuses %j in one line", (text, message) => {
    const attempt = () => plan(text);
    expect(attempt).toThrow(UserError);
    expect(attempt).toThrow(message);
    expect(attempt).not.toThrow("\n");
  });

  it("says so when nothing was named to free", () => {
    expect(plan("malloc=arena_alloc:1").notes).toContain("No free function was given: all blocks stay live.");
  });

  it("replaces what would be found, unless it says auto", () => {
    const family = fixture("family.wasm");
    const pool = findAllocator(family, { allocator: "malloc=pool_get:1,free=pool_put:1" });
    expect(pictureOf(pool)).toEqual(["malloc pool_get size 1", "free pool_put pointer 1"]);
    const both = findAllocator(family, { allocator: "auto,malloc=pool_get:1,free=pool_put:1" });
    expect(both.how).toBe("option");
    expect(pictureOf(both)).toEqual(
      expect.arrayContaining(["malloc pool_get size 1", "malloc malloc size 0"]),
    );
    // The pool's own call of malloc is internal to the allocator, because its blocks must not lie inside another block.
    expect(namesOf(family, both.internals)).toContain("pool_get");
    expect(pictureOf(findAllocator(family, { allocator: "auto" }))).toEqual(pictureOf(findAllocator(family)));
  });

  it("reads any text or refuses it as a user's mistake", () => {
    const names = readNames(arena).functions;
    const piece = fc.oneof(
      fc.string({ maxLength: 5 }),
      fc.constantFrom(
        "malloc=",
        "free=",
        "auto",
        ",",
        ":",
        ":1",
        "#",
        "#2",
        "arena_alloc",
        "arena_free",
        "=",
        " ",
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        try {
          for (const { index } of readAllocatorOption(pieces.join(""), arena, names).functions)
            expect(index).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
        }
      }),
    );
  });
});
