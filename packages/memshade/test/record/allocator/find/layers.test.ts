import { describe, expect, it } from "vitest";
import { readNames } from "../../../../src/code/wasm/index.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { moduleFromText } from "./support.ts";

function layersOf(functions: string): (string | undefined)[] {
  const module = moduleFromText(`(module (memory 1)
    (global $__stack_pointer (mut i32) (i32.const 4096))
    (table 8 funcref)
    (elem (i32.const 1) $malloc)
    (type $allocate (func (param i32) (result i32)))
    (func $malloc (export "malloc") (param i32) (result i32) (i32.const 8))
    (func $free (export "free") (param i32))
    (func $note (param i32) (result i32) (i32.const 1))
    ${functions})`);
  const names = readNames(module).functions;
  return findAllocator(module).layers.map((index) => names.get(index));
}

describe("layers on the allocator", () => {
  it("write a header in front of the block and hand on what is behind", () => {
    expect(
      layersOf(`(func $sqlite3MemMalloc (param i32) (result i32) (local i32)
        (if (i32.eqz (local.tee 1 (call $malloc (i32.add (local.get 0) (i32.const 8)))))
          (then (drop (call $note (local.get 0))) (return (i32.const 0))))
        (i64.store (local.get 1) (i64.extend_i32_s (local.get 0)))
        (i32.add (local.get 1) (i32.const 8)))`),
    ).toEqual(["sqlite3MemMalloc"]);
  });

  it("call the allocator through a table, and each other", () => {
    expect(
      layersOf(`(func $configured (param i32) (result i32)
          (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (local.get 0)))
          (call_indirect (type $allocate) (local.get 0) (i32.load (i32.const 60))))
        (func $zeroed (param $heap i32) (param $size i32) (result i32) (local $block i32)
          (local.set $block (call $configured (i32.mul (local.get $size) (i32.const 4))))
          (memory.fill (local.get $block) (i32.const 0) (local.get $size))
          (local.get $block))`),
    ).toEqual(["configured", "zeroed"]);
  });

  it("may take a block from a pool instead", () => {
    expect(
      layersOf(`(func $refill (param $size i32) (result i32) (local $block i32)
        (if (i32.eqz (local.tee $block (i32.load (i32.const 64))))
          (then (i32.store (i32.const 68) (local.tee $block (call $malloc (local.get $size))))))
        (local.get $block))`),
    ).toEqual(["refill"]);
  });

  it("are seen in code that keeps its variables in memory", () => {
    expect(
      layersOf(`(func $unoptimised (param i32) (result i32) (local $frame i32)
        (local.set $frame (i32.sub (global.get $__stack_pointer) (i32.const 16)))
        (global.set $__stack_pointer (local.get $frame))
        (i32.store offset=12 (local.get $frame) (local.get 0))
        (i32.store offset=8 (local.get $frame) (call $malloc (i32.load offset=12 (local.get $frame))))
        (if (i32.eqz (i32.load offset=8 (local.get $frame))) (then (unreachable)))
        (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 16)))
        (i32.load offset=8 (local.get $frame)))`),
    ).toEqual(["unoptimised"]);
  });

  it("copy a text that they are given, as long as it is", () => {
    expect(
      layersOf(`(func $strlen (param i32) (result i32) (i32.const 3))
        (func $copied (param $text i32) (result i32)
          (call $malloc (i32.add (call $strlen (local.get $text)) (i32.const 1))))
        (func $field (param $text i32) (param $name i32) (result i32)
          (call $malloc (i32.add (call $note (local.get $text)) (call $strlen (local.get $name)))))`),
    ).toEqual(["copied"]);
  });

  it("are none where a function decides the size itself: it is who asked", () => {
    expect(
      layersOf(`(func $new_node (param $value i32) (result i32) (local $node i32)
          (i32.store (local.tee $node (call $malloc (i32.const 24))) (local.get $value))
          (local.get $node))
        (func $copy (param $text i32) (result i32) (local $copy i32)
          (local.set $copy (call $malloc (call $note (local.get $text))))
          (memory.copy (local.get $copy) (local.get $text) (i32.const 9))
          (local.get $copy))`),
    ).toEqual([]);
  });

  it("are none where the result is not always the block", () => {
    expect(
      layersOf(`(func $reserve (param $vector i32) (param $size i32) (result i32) (local $block i32)
          (i32.store (local.get $vector) (local.tee $block (call $malloc (local.get $size))))
          (i32.ne (local.get $block) (i32.const 0)))
        (func $measure (param $size i32) (result i32) (local $end i32) (local $start i32)
          (local.set $start (call $malloc (local.get $size)))
          (local.set $end (i32.add (local.get $start) (local.get $size)))
          (i32.sub (local.get $end) (local.get $start)))
        (func $either (param $size i32) (result i32) (local $block i32)
          (local.set $block (call $malloc (local.get $size)))
          (if (result i32) (local.get $size) (then (local.get $block)) (else (call $note (local.get $block)))))`),
    ).toEqual([]);
  });
});
