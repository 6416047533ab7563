import { describe, expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import { type Call, expectTransparent } from "../../support/behaviour.ts";
import { Profiled } from "../../support/profiled.ts";

// An allocator like real ones: it writes headers, has helper functions, and calls itself. malloc writes the size 8 bytes in front of the
// block (1 access) and takes the block from $bin through $take (2 accesses). calloc calls malloc (3) and clears with $memset, which the
// program uses too (1 for every 8 bytes). realloc reads the old header (1), calls malloc (3), copies with memory.copy and calls free (1).
// free writes a link into the block (1).
const ALLOCATOR = wat(`(module
  (memory (export "memory") 1 1)
  (func $take (param $size i32) (result i32)
    (i32.store (i32.const 1024)
      (i32.add (i32.load (i32.const 1024)) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16))))
    (i32.load (i32.const 1024)))
  (func $malloc (export "malloc") (param $size i32) (result i32) (local $block i32)
    (local.set $block (i32.add (i32.const 4096) (call $take (local.get $size))))
    (i32.store (i32.sub (local.get $block) (i32.const 8)) (local.get $size))
    (local.get $block))
  (func $free (export "free") (param $block i32)
    (if (local.get $block) (then (i32.store (local.get $block) (i32.const -1)))))
  (func $memset (export "memset") (param $at i32) (param $value i32) (param $size i32) (local $end i32)
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (loop $more
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (i64.store (local.get $at) (i64.extend_i32_u (local.get $value)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $more)))))
  (func $calloc (export "calloc") (param $n i32) (param $each i32) (result i32) (local $block i32)
    (local.set $block (call $malloc (i32.mul (local.get $n) (local.get $each))))
    (call $memset (local.get $block) (i32.const 0) (i32.mul (local.get $n) (local.get $each)))
    (local.get $block))
  (func $realloc (export "realloc") (param $old i32) (param $size i32) (result i32) (local $block i32)
    (local.set $block (call $malloc (local.get $size)))
    (if (local.get $old) (then
      (memory.copy (local.get $block) (local.get $old) (i32.load (i32.sub (local.get $old) (i32.const 8))))
      (call $free (local.get $old))))
    (local.get $block))
  (func $use (export "use") (result i32) (local $p i32)
    (local.set $p (call $calloc (i32.const 4) (i32.const 8)))
    (i32.store (local.get $p) (i32.const 7))
    (local.set $p (call $realloc (local.get $p) (i32.const 64)))
    (call $memset (i32.add (local.get $p) (i32.const 8)) (i32.const 0) (i32.const 56))
    (i32.load (local.get $p))
    (call $free (local.get $p))))`);
const NAMED = "malloc=malloc,calloc=calloc,realloc=realloc,free=free";

const accessesOf = (options: { includeAllocator?: boolean; exactHistogram?: boolean }) => {
  const profiled = new Profiled(ALLOCATOR, { options: { allocator: NAMED, includeStack: true, ...options } });
  expect(profiled.call("use")).toBe(7);
  return profiled;
};

describe.each([{}, { exactHistogram: true }])("the allocator's own accesses (%o)", (options) => {
  it("are left out: its blocks have only what the program did to them", () => {
    const profiled = accessesOf(options);
    expect(
      profiled.contexts().map(({ mib, site }) => [mib.totalSize, mib.totalAccessCount, site.reallocations]),
    ).toEqual([
      [32n, 1n, 0],
      [64n, 8n, 1],
    ]);
    expect(profiled.heap).toMatchObject({ allocations: 2, frees: 2, heapAccesses: 9, otherAccesses: 0 });
  });

  it("are counted on request, to the last one", () => {
    const { heap } = accessesOf({ ...options, includeAllocator: true });
    expect(heap).toMatchObject({ allocations: 2, frees: 2 });
    const take = 3;
    const malloc = take + 1;
    const calloc = malloc + 4;
    const realloc = malloc + 1 + 4 + 4 + 1;
    const own = 1 + 7 + 1;
    expect(heap.heapAccesses + heap.otherAccesses).toBe(calloc + realloc + 1 + own);
  });
});

describe("an allocator that is instrumented", () => {
  it("does what it did", () => {
    const calls: Call[] = [
      ["use"],
      ["malloc", 40],
      ["calloc", 3, 5],
      ["realloc", 4112, 9],
      ["free", 4112],
      ["use"],
      ["free", 0],
    ];
    expectTransparent(ALLOCATOR, calls, { allocator: NAMED });
    const everywhere: Call[] = [
      ["malloc", 70_000],
      ["calloc", 40_000, 1],
      ["realloc", 4096, 4],
    ];
    expectTransparent(ALLOCATOR, everywhere, { allocator: NAMED });
  });

  it("may call back into the program, whose allocations count", () => {
    const module = wat(`(module (memory 1 1) (type $handler (func))
      (table 1 funcref) (elem (i32.const 0) $handler)
      (global $next (mut i32) (i32.const 4096))
      (func $reserve (drop (call $malloc (i32.const 8))))
      (func $handler (call $reserve))
      (func $malloc (param $size i32) (result i32)
        (if (i32.gt_u (local.get $size) (i32.const 100)) (then (call_indirect (type $handler) (i32.const 0))))
        (global.get $next) (global.set $next (i32.add (global.get $next) (i32.const 1024))))
      (func $free (param i32))
      (func $run (export "run") (result i32) (call $malloc (i32.const 200))))`);
    const profiled = new Profiled(module, { options: { allocator: "malloc=malloc,free=free" } });
    expect(profiled.call("run")).toBe(4096 + 1024);
    expect(profiled.heap.allocations).toBe(2);
    const stacks = Object.keys(profiled.stacks());
    expect(stacks.at(-1)).toBe("run");
    expect(stacks[0]).toMatch(/^reserve < handler/);
  });

  it("may be a thin cover over another function that the program calls too", () => {
    const module = wat(`(module (memory 1 1) (global $next (mut i32) (i32.const 4096))
      (func $malloc (param $size i32) (result i32) (global.get $next) (global.set $next (i32.add (global.get $next) (i32.const 64))))
      (func $free (param i32))
      (func $xmalloc (param i32) (result i32) (local $p i32)
        (if (i32.eqz (local.tee $p (call $malloc (local.get 0)))) (then (unreachable))) (local.get $p))
      (func $one (export "one") (drop (call $xmalloc (i32.const 8))))
      (func $two (export "two") (call $one) (drop (call $xmalloc (i32.const 8))) (drop (call $malloc (i32.const 8)))))`);
    const profiled = new Profiled(module);
    profiled.call("one");
    profiled.call("two");
    const stacks = profiled.stacks();
    expect(profiled.heap.allocations).toBe(4);
    for (const stack of Object.keys(stacks)) expect(stack).not.toContain("malloc");
  });
});

describe("functions that pass a request on, which the allocator calls itself", () => {
  // Rust modules with a lock around malloc have this chain: __wrap_malloc → wrapper of the plain function → plain function.
  const covered = wat(`(module
    (memory (export "memory") 1 1)
    (global $next (mut i32) (i32.const 4096)) (global $locked (mut i32) (i32.const 0))
    (func $malloc (param $size i32) (result i32)
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16)))))
    (func $free (param i32))
    (func $real_malloc (param $size i32) (result i32) (call $malloc (local.get $size)))
    (func $real_free (param $block i32) (call $free (local.get $block)))
    (func $locked_malloc (param $size i32) (result i32) (local $block i32)
      (loop $wait (br_if $wait (global.get $locked)))
      (global.set $locked (i32.const 1))
      (local.set $block (call $real_malloc (local.get $size)))
      (global.set $locked (i32.const 0))
      (i32.store (i32.const 1024) (local.get $block))
      (i32.load (i32.const 1024)))
    (func $locked_free (param $block i32)
      (global.set $locked (i32.const 1))
      (call $real_free (local.get $block))
      (i32.store (i32.const 1024) (local.get $block))
      (global.set $locked (i32.const 0)))
    (func $use (export "use")
      (call $locked_free (call $locked_malloc (i32.const 8)))
      (call $real_free (call $real_malloc (i32.const 24)))))`);

  it("lead to the plain functions for it, and to the hooks for everybody else", () => {
    const allocator = "malloc=malloc,free=free,malloc=locked_malloc,free=locked_free";
    const profiled = new Profiled(covered, { options: { allocator } });
    for (let i = 0; i < 3; i++) profiled.call("use");
    expect(profiled.heap).toMatchObject({ allocations: 6, frees: 6, liveBlocks: 0, allocatedBytes: 3 * 32 });
    expect(profiled.stacks()).toEqual({ use: 6 });
    expect(profiled.snapshot().notTracked).toEqual([]);
  });
});

describe("a posix_memalign that passes its request on", () => {
  // Modules with mimalloc have this shape. The exported function only calls another function of the same kind. This one calls a part of the
  // allocator that checks the request first, and that the program also uses for aligned blocks.
  const aligned = wat(`(module
    (memory (export "memory") 1 1)
    (global $next (mut i32) (i32.const 4096))
    (func $malloc (export "malloc") (param $size i32) (result i32)
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16)))))
    (func $free (export "free") (param i32))
    (func $place (param $size i32) (param $alignment i32) (result i32)
      (if (i32.gt_u (i32.popcnt (local.get $alignment)) (i32.const 1)) (then (return (i32.const 0))))
      ${"(if (i32.eq (local.get $alignment) (i32.const 3)) (then (return (i32.const 0))))".repeat(12)}
      (call $malloc (local.get $size)))
    (func $checked (param $to i32) (param $alignment i32) (param $size i32) (result i32) (local $block i32)
      (if (i32.lt_u (local.get $alignment) (i32.const 4)) (then (return (i32.const 28))))
      (local.set $block (call $place (local.get $size) (local.get $alignment)))
      (if (i32.eqz (local.get $block)) (then (return (i32.const 48))))
      (i32.store (local.get $to) (local.get $block))
      (i32.const 0))
    (func $posix_memalign (export "posix_memalign") (param $to i32) (param $alignment i32) (param $size i32) (result i32)
      (call $checked (local.get $to) (local.get $alignment) (local.get $size)))
    (func $use (export "use") (result i32)
      (drop (call $posix_memalign (i32.const 1024) (i32.const 2) (i32.const 100)))
      (drop (call $posix_memalign (i32.const 1024) (i32.const 16) (i32.const 100)))
      (call $free (i32.load (i32.const 1024)))
      (drop (call $checked (i32.const 1024) (i32.const 16) (i32.const 50)))
      (call $free (i32.load (i32.const 1024)))
      (call $free (call $place (i32.const 20) (i32.const 16)))
      (i32.load (i32.const 1024))))`);

  it("counts each block once, with the size that was asked for, whichever function the program calls", () => {
    const profiled = new Profiled(aligned);
    for (let i = 0; i < 3; i++) profiled.call("use");
    expect(profiled.heap).toMatchObject({ allocations: 9, frees: 9, liveBlocks: 0, allocatedBytes: 3 * 170 });
    expect(profiled.stacks()).toEqual({ use: 9 });
    expect(profiled.snapshot().notTracked).toEqual([]);
  });
});

describe("a slow path that comes back to a function of the family", () => {
  // mimalloc has this shape. The fast path is inlined into malloc. The slow path aligns large blocks with the program's memalign, which
  // takes its memory from the slow path again. Another function of the program calls the slow path too.
  const circular = wat(`(module
    (memory (export "memory") 1 1)
    (global $next (mut i32) (i32.const 4096))
    (func $take (param $size i32) (result i32)
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16)))))
    (func $slow (param $size i32) (param $zero i32) (result i32)
      ${"(global.set $next (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))".repeat(40)}
      (if (i32.and (i32.gt_u (local.get $size) (i32.const 64)) (i32.eqz (local.get $zero)))
        (then (return (call $memalign (i32.const 16) (local.get $size)))))
      (call $take (local.get $size)))
    (func $memalign (export "memalign") (param $alignment i32) (param $size i32) (result i32)
      (i32.and (i32.add (call $slow (i32.add (local.get $size) (local.get $alignment)) (i32.const 1)) (i32.const 15)) (i32.const -16)))
    (func $malloc (export "malloc") (param $size i32) (result i32)
      (if (i32.lt_u (local.get $size) (i32.const 32)) (then
        (global.set $next (i32.add (global.get $next) (i32.const 32)))
        (return (i32.sub (global.get $next) (i32.const 32)))))
      (call $slow (local.get $size) (i32.const 0)))
    (func $free (export "free") (param i32))
    (func $copy_of_text (export "strndup") (param $size i32) (result i32)
      (call $slow (local.get $size) (i32.const 1)))
    (func $use (export "use")
      (call $free (call $malloc (i32.const 8)))
      (call $free (call $malloc (i32.const 40)))
      (call $free (call $malloc (i32.const 200)))
      (call $free (call $memalign (i32.const 16) (i32.const 100)))))`);

  it("counts each block once", () => {
    const profiled = new Profiled(circular);
    for (let i = 0; i < 3; i++) profiled.call("use");
    expect(profiled.heap).toMatchObject({
      allocations: 12,
      frees: 12,
      liveBlocks: 0,
      allocatedBytes: 3 * 348,
    });
    expect(profiled.stacks()).toEqual({ use: 12 });
    expect(profiled.snapshot().notTracked).toEqual([]);
  });
});
