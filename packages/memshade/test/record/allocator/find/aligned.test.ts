import { describe, expect, it } from "vitest";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { indexOf, moduleFromText, pictureOf, withoutNames } from "./support.ts";

// Compiled forms of memalign: if all callers ask for the same alignment, the alignment is a constant in the code, and the body may be in
// posix_memalign. $dispose releases the bytes in front of the aligned address; like malloc and free, it works on the allocator's static
// structure.
const STATE = `(i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1028)) (i32.load (i32.const 1032))))`;
const PADDED = `(call $malloc (i32.add (local.get $size) (i32.const 76)))`;
const ALIGNED = `(local.set $place (i32.and (i32.add (local.tee $block ${PADDED}) (i32.const 63)) (i32.const -64)))
  (call $dispose (local.get $block) (i32.sub (local.get $place) (local.get $block)))`;
const MODULE = moduleFromText(`(module (memory 1)
  (func $malloc (export "malloc") (param $size i32) (result i32) ${STATE} (i32.const 4096))
  (func $free (export "free") (param i32) ${STATE})
  (func $dispose (param i32 i32) ${STATE})
  (func $aligned_by_64 (param $size i32) (result i32) (local $block i32) (local $place i32)
    ${ALIGNED}
    (local.get $place))
  (func $store_aligned (param $to i32) (param $size i32) (result i32) (local $block i32) (local $place i32)
    (if (i32.gt_u (local.get $size) (i32.const 0x7fffffff)) (then (return (i32.const 12))))
    ${ALIGNED}
    (i32.store (local.get $to) (local.get $place))
    (i32.const 0))
  (func (export "make") (result i32) (call $aligned_by_64 (i32.const 8)))
  (func (export "fill") (result i32) (call $store_aligned (i32.const 64) (i32.const 8))))`);

describe("a memalign that an optimiser has changed", () => {
  it("is found by what it does, also with its alignment compiled in or inside of posix_memalign", () => {
    const exported = { ...withoutNames(MODULE), exports: MODULE.exports };
    expect(pictureOf(findAllocator(exported))).toEqual([
      "malloc malloc size 0",
      "free free pointer 0",
      `memalign #${indexOf(MODULE, "aligned_by_64")} size 0`,
      `posix_memalign #${indexOf(MODULE, "store_aligned")} size 1 stored at 0`,
    ]);
  });

  it("is found by its name with one parameter less", () => {
    const named = moduleFromText(`(module (memory 1)
      (func $malloc (param i32) (result i32) (i32.const 8))
      (func $free (param i32))
      (func $internal_memalign (param i32) (result i32) (i32.const 64))
      (func $posix_memalign (param i32 i32) (result i32) (i32.const 12)))`);
    expect(pictureOf(findAllocator(named)).slice(2)).toEqual([
      "memalign internal_memalign size 0",
      "posix_memalign posix_memalign size 1 stored at 0",
    ]);
  });

  it("can be named by its index", () => {
    const index = indexOf(MODULE, "aligned_by_64");
    const plan = findAllocator(MODULE, { allocator: `malloc=malloc,free=free,memalign=#${index}` });
    expect(pictureOf(plan)[2]).toBe("memalign aligned_by_64 size 0");
  });
});
