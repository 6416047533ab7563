import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { BUMP, Profiled } from "../../../support/profiled.ts";
import { cellsOf, named, reportOf, staticsOf } from "../../../support/statics.ts";

const ALLOCATOR = { allocator: "malloc=malloc,free=free" };

/** Tables at 1024 and 1536 of 512 bytes each, and a counter at 2048; the heap begins at 4096. */
const PROGRAM = wat(`(module (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 4096))
  (data $.rodata (i32.const 1024) "${"x".repeat(1024)}")
  (data $.data (i32.const 2048) "12345678")
  ${BUMP}
  (func (export "allocate") (param $size i32) (result i32) (call $malloc (local.get $size)))
  (func (export "both") (param $i i32)
    (i32.store offset=1024 (local.get $i) (i32.load offset=1536 (local.get $i)))
    (i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2048)) (i32.const 1))))
  (func (export "poke") (param $p i32) (i32.store (local.get $p) (i32.const 1)))
  (func (export "pair") (param $p i32) (i32.store offset=8 (local.get $p) (i32.load (local.get $p))))
  (func (export "spin") (param $p i32) (param $n i32)
    (loop $again
      (drop (i32.load (local.get $p)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "rows") (param $p i32) (param $n i32)
    (loop $again
      (drop (i32.load (local.get $p)))
      (local.set $p (i32.add (local.get $p) (i32.const 24)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "sweep") (param $p i32) (param $n i32)
    (loop $again
      (i32.store (local.get $p) (i32.const 1))
      (local.set $p (i32.add (local.get $p) (i32.const 4)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))`);

const VARIABLES = [
  { name: "first", address: 1024, bytes: 512 },
  { name: "second", address: 1536, bytes: 512 },
  { name: "hits", address: 2048, bytes: 8 },
];

describe("accesses to static data", () => {
  it("with one index count for each table, and those at constant addresses count too", () => {
    const profiled = new Profiled(PROGRAM, { options: ALLOCATOR });
    for (const index of [0, 4, 16]) profiled.call("both", index);
    // Worked out by hand: 0 and 4 are in the first cell of both tables, 16 in the third. Cells with stores only are negative.
    expect(cellsOf(profiled)).toEqual({ 1024: -2, 1040: -1, 1536: 2, 1552: 1, 2048: 6 });
    const report = reportOf(profiled, VARIABLES);
    expect(named(report, "first")).toMatchObject({ bytes: 512, accesses: 3, use: "unread" });
    expect(named(report, "second")).toMatchObject({ accesses: 3, untouchedBytes: 408 });
    expect(named(report, "hits")).toMatchObject({ accesses: 6, bytes: 8, use: "hot" });
  });

  it("are part of all that are counted, beside those to blocks and what is neither", () => {
    const profiled = new Profiled(PROGRAM, { options: ALLOCATOR });
    const block = profiled.call("allocate", 32);
    profiled.call("poke", block);
    profiled.call("poke", 5000);
    profiled.call("both", 0);
    expect(profiled.heap).toMatchObject({ heapAccesses: 1, otherAccesses: 5, staticAccesses: 4 });
  });

  it("through a pointer are counted near by where they are merged, and so much is left of what nobody touched", () => {
    const [merged, exact] = [false, true].map((exactHistogram) => {
      const profiled = new Profiled(PROGRAM, { options: { ...ALLOCATOR, exactHistogram } });
      profiled.call("pair", 1024);
      return profiled;
    });
    expect(cellsOf(merged)).toEqual({ 1024: 2 });
    expect(cellsOf(exact)).toEqual({ 1024: 1, 1032: -1 });
    // Accesses up to 80 bytes from a counter's 8 may be counted there. With exact counters, 496 bytes are untouched and 8 only written.
    expect(named(reportOf(merged, VARIABLES), "first")).toMatchObject({
      untouchedBytes: 424,
      unreadBytes: 0,
    });
    expect(named(reportOf(exact, VARIABLES), "first")).toMatchObject({ untouchedBytes: 496, unreadBytes: 8 });
  });

  it("of a loop are told place by place where its steps are irregular, and as a mark where they are not", () => {
    const profiled = new Profiled(PROGRAM, { options: ALLOCATOR });
    profiled.call("rows", 1024, 4);
    expect(cellsOf(profiled)).toEqual({ 1024: 1, 1048: 1, 1072: 1, 1096: 1 });
    profiled.call("sweep", 1024, 256);
    const cells = cellsOf(profiled);
    expect(Object.keys(cells)).toHaveLength(128);
    expect(cells[1032]).toBe(0);
    expect(cells[2040]).toBe(-256);
    // The loop passed both tables as one; only the counter at its last address shows that it did not read.
    expect(named(reportOf(profiled, VARIABLES), "second")).toMatchObject({
      use: "unread",
      untouchedBytes: 0,
    });
  });

  it("end where an allocator hands out the first block, also one that has been freed", () => {
    const start = wat(`(module (memory 1 1) (data (i32.const 1024) "${"x".repeat(4000)}")
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 2048))
      (func $free (export "free") (param i32))
      (func (export "run") (param $size i32)
        (call $free (call $malloc (local.get $size)))
        (i32.store (i32.const 2048) (i32.const 1))
        (i32.store (i32.const 1024) (i32.const 1))))`);
    for (const size of [100, 2000]) {
      const profiled = new Profiled(start, { options: ALLOCATOR });
      profiled.call("run", size);
      expect(staticsOf(profiled).modules[0]).toMatchObject({ start: 1024, end: 2048 });
      expect(cellsOf(profiled)).toEqual({ 1024: -1 });
      expect(profiled.heap).toMatchObject({ otherAccesses: 2, staticAccesses: 1 });
    }
  });

  it("begin anew at a reset", () => {
    const profiled = new Profiled(PROGRAM, { options: ALLOCATOR });
    profiled.call("both", 0);
    profiled.call("sweep", 1024, 256);
    profiled.session.reset();
    expect(cellsOf(profiled)).toEqual({});
    profiled.call("both", 0);
    expect(profiled.heap).toMatchObject({ otherAccesses: 4, staticAccesses: 4 });
  });

  it("of several instances are added up", () => {
    const first = new Profiled(PROGRAM, { options: ALLOCATOR });
    const second = new Profiled(PROGRAM, { options: ALLOCATOR, session: first.session });
    first.call("both", 0);
    second.call("both", 0);
    expect(cellsOf(first)).toEqual({ 1024: -2, 1536: 2, 2048: 4 });
  });

  it("of the allocator's own code are not counted, so its variables are not said to be unused", () => {
    const own = wat(`(module (memory 1 1) (data (i32.const 1028) "${"x".repeat(400)}")
      (func $malloc (export "malloc") (param i32) (result i32)
        (i32.store (i32.const 1100) (i32.const 4)) (i32.const 4096))
      (func $free (export "free") (param i32)))`);
    const profiled = new Profiled(own, { options: ALLOCATOR });
    profiled.call("malloc", 8);
    const variables = [
      { name: "state", address: 1028, bytes: 108 },
      { name: "other", address: 1136, bytes: 292 },
    ];
    const report = reportOf(profiled, variables);
    expect(named(report, "state")).toMatchObject({ use: "uncounted", untouchedBytes: 0 });
    expect(named(report, "other")).toMatchObject({ use: "untouched", untouchedBytes: 292 });
    const counted = new Profiled(own, { options: { ...ALLOCATOR, includeAllocator: true } });
    counted.call("malloc", 8);
    expect(named(reportOf(counted, variables), "state")).toMatchObject({ use: "unread", accesses: 1 });
  });

  it("that put passive segments into the memory are told apart", () => {
    const passive = wat(`(module (memory 1 1) (data $.rodata "${"x".repeat(64)}")
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 4096))
      (func $free (export "free") (param i32))
      (func $init
        (memory.init 0 (i32.const 1024) (i32.const 0) (i32.const 64))
        (memory.fill (i32.const 1088) (i32.const 0) (i32.const 32)))
      (start $init)
      (func (export "read") (param $i i32) (drop (i32.load offset=1024 (local.get $i)))))`);
    const profiled = new Profiled(passive, { options: ALLOCATOR });
    profiled.call("read", 8);
    const [module] = staticsOf(profiled).modules;
    expect(module).toMatchObject({ start: 1024, initialization: 12 });
    expect(module.segments).toEqual([{ index: 0, name: ".rodata", start: 1024, bytes: 64 }]);
    expect(cellsOf(profiled)).toEqual({ 1032: 1 });
    expect(profiled.heap).toMatchObject({ otherAccesses: 13, staticAccesses: 1 });
  });
});

describe("a counter of static data that is full", () => {
  const LARGEST = 0x7fffffff;
  const full = () => {
    const profiled = new Profiled(PROGRAM, { options: ALLOCATOR });
    return { profiled, counters: new Uint32Array(profiled.shadow.buffer) };
  };

  it("loses nothing to a loop that is counted in one go", () => {
    const { profiled, counters } = full();
    counters[2048 / 8] = LARGEST * 2 + 1;
    profiled.call("spin", 2048, 100);
    expect(cellsOf(profiled)).toEqual({ 2048: LARGEST + 100 });
    profiled.call("spin", 2048, 100);
    expect(cellsOf(profiled)).toEqual({ 2048: LARGEST + 200 });
    expect(profiled.heap).toMatchObject({ otherAccesses: LARGEST + 200, staticAccesses: LARGEST + 200 });
  });

  it("is seen to wrap by who looks often enough", () => {
    const { profiled, counters } = full();
    profiled.session.watch(false);
    counters[2048 / 8] = (LARGEST - 1) * 2 + 1;
    profiled.session.watch(false);
    profiled.call("both", 0);
    profiled.call("both", 0);
    expect(cellsOf(profiled)[2048]).toBe(LARGEST + 3);
    expect(staticsOf(profiled).modules[0].wrapsAt).toBeUndefined();
    expect(reportOf(profiled).atLeast).toBe(false);
  });

  it("is told as a lower bound where nobody looked, or too late", () => {
    const { profiled, counters } = full();
    counters[2048 / 8] = (LARGEST - 1) * 2 + 1;
    expect(staticsOf(profiled).modules[0].wrapsAt).toBe(LARGEST);
    expect(reportOf(profiled).atLeast).toBe(true);
    profiled.session.watch(false);
    expect(reportOf(profiled).atLeast).toBe(false);
    profiled.session.watch(true);
    expect(reportOf(profiled).atLeast).toBe(true);
  });
});

describe("a module's static data", () => {
  const known = (text: string) => {
    const module = wat(`(module ${text}
      (func (export "malloc") (param i32) (result i32) (i32.const 4096)) (func (export "free") (param i32)))`);
    return new Profiled(module, {
      options: ALLOCATOR,
      imports: () => ({ env: { __memory_base: 1024, other: new WebAssembly.Memory({ initial: 1 }) } }),
    }).info;
  };

  it("is not known where the loader decides where it lies, and where there is none", () => {
    const base = '(import "env" "__memory_base" (global $base i32)) (memory 1)';
    const moving = known(`${base} (data (global.get $base) "abc")`);
    expect(moving.statics).toBeUndefined();
    expect(moving.notTracked.join()).toContain("static data are not counted by variable");
    const none = known("(memory 1)");
    expect(none.statics).toBeUndefined();
    expect(none.notTracked).toEqual([]);
  });

  it("is found in memories with 64-bit addresses, too", () => {
    expect(known('(memory i64 1) (data (i64.const 2000) "abc")').statics).toMatchObject({
      start: 2000,
      end: 65536,
    });
  });

  it("may be zeroed data alone, in programs with a stack", () => {
    const stack = "(global $__stack_pointer (mut i32) (i32.const 70000))";
    expect(known(`(memory 2) ${stack}`).statics).toMatchObject({ start: 1024, dataEnd: 1024, end: 131_072 });
  });

  it("ends below a stack that lies above it", () => {
    expect(
      known('(memory 2) (global $__stack_pointer (mut i32) (i32.const 70000)) (data (i32.const 2000) "abc")')
        .statics,
    ).toMatchObject({ dataEnd: 2003, end: 70_000 });
  });
});
