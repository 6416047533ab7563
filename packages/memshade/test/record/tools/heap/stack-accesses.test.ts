import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { expectTransparent } from "../../../support/behaviour.ts";
import { DEFAULT, EXACT, MERGED, Watched } from "../../../support/counters.ts";

/** Default mode with a counter per granule, so that a test can see which accesses were excluded. */
const WITHOUT_STACK = { countersOnly: true, exactHistogram: true } as const;

/** A function as clang compiles it: 32 bytes of stack, one access above the stack pointer, one below, and one to the heap. */
const frame = (stackPointer: string, name: string) => `
  (func (export "${name}") (param $heap i32) (local $frame i32)
    (global.set ${stackPointer} (local.tee $frame (i32.sub (global.get ${stackPointer}) (i32.const 32))))
    (i32.store offset=12 (local.get $frame) (i32.const 1))
    (i64.store (i32.add (local.get $frame) (i32.const 16)) (i64.const 2))
    (i32.store (local.get $heap) (i32.load offset=12 (local.get $frame)))
    (global.set ${stackPointer} (i32.add (local.get $frame) (i32.const 32))))`;

const STACK_TOP = 1024;
const ONLY_HEAP = { 4096: { count: 1, reads: false } };
const WITH_STACK = {
  [STACK_TOP - 24]: { count: 2, reads: true },
  [STACK_TOP - 16]: { count: 1, reads: false },
  ...ONLY_HEAP,
};

function expectStackLeftOut(text: string, imports: () => WebAssembly.Imports = () => ({})): void {
  const module = wat(text);
  const counted = (options: typeof EXACT | typeof WITHOUT_STACK) => {
    const watched = new Watched(module, options, imports());
    watched.call("frame", 4096);
    return watched.granules();
  };
  expect(counted(WITHOUT_STACK)).toEqual(ONLY_HEAP);
  expect(counted(EXACT)).toEqual(WITH_STACK);
}

describe("accesses through the stack pointer are left out, whatever global it is", () => {
  it("the first one, known by its name", () => {
    expectStackLeftOut(`(module (memory 1 1) (global $__stack_pointer (mut i32) (i32.const ${STACK_TOP}))
      ${frame("$__stack_pointer", "frame")})`);
  });

  it("the third one, known by its name", () => {
    expectStackLeftOut(`(module (memory 1 1)
      (global $a (mut i32) (i32.const 0)) (global $b f64 (f64.const 0))
      (global $__stack_pointer (mut i32) (i32.const ${STACK_TOP}))
      ${frame("$__stack_pointer", "frame")})`);
  });

  it("one that nothing names, known by what functions begin with", () => {
    expectStackLeftOut(`(module (memory 1 1)
      (global $counter (mut i32) (i32.const 0)) (global $sp (mut i32) (i32.const ${STACK_TOP}))
      (func (global.set $counter (i32.add (global.get $counter) (i32.const 1))))
      ${frame("$sp", "frame")})`);
  });

  it("one that is exported", () => {
    expectStackLeftOut(`(module (memory 1 1)
      (global $a (mut i32) (i32.const 0))
      (global $sp (export "__stack_pointer") (mut i32) (i32.const ${STACK_TOP}))
      ${frame("$sp", "frame")})`);
  });

  it("one that is imported behind others", () => {
    expectStackLeftOut(
      `(module (import "env" "__memory_base" (global i32)) (import "env" "__stack_pointer" (global $sp (mut i32)))
        (memory 1 1) (global $own (mut i32) (i32.const 77)) ${frame("$sp", "frame")})`,
      () => ({
        env: {
          __memory_base: new WebAssembly.Global({ value: "i32" }, 5),
          __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP),
        },
      }),
    );
  });

  it("one that is imported under a name of two parts, as dynamic linking does", () => {
    expectStackLeftOut(
      `(module (import "GOT.mem" "x" (global (mut i32))) (import "env" "__stack_pointer" (global $sp (mut i32)))
        (memory 1 1) ${frame("$sp", "frame")})`,
      () => ({
        "GOT.mem": { x: new WebAssembly.Global({ value: "i32", mutable: true }, 5) },
        env: { __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP) },
      }),
    );
  });
});

describe("what counts as a stack access", () => {
  const module = (body: string) =>
    wat(`(module (memory (export "memory") 1 1)
      (global $__stack_pointer (mut i32) (i32.const ${STACK_TOP})) (global $other (mut i32) (i32.const 2048))
      (func (export "run") (param $p i32) (local $f i32) ${body}))`);
  const counts = (body: string, options: typeof EXACT | typeof WITHOUT_STACK = WITHOUT_STACK) => {
    const watched = new Watched(module(body), options);
    watched.call("run", 4096);
    return watched.counts();
  };
  const STORE = "(i32.store (local.get $f) (i32.const 0))";

  it("the pointer itself, copied, moved by constants and aligned", () => {
    expect(counts("(i32.store offset=16 (global.get $__stack_pointer) (i32.const 1))")).toEqual({});
    expect(counts(`(local.set $f (i32.sub (global.get $__stack_pointer) (i32.const 64))) ${STORE}`)).toEqual(
      {},
    );
    expect(
      counts(
        `(local.set $f (i32.and (i32.sub (global.get $__stack_pointer) (i32.const 64)) (i32.const -64))) ${STORE}`,
      ),
    ).toEqual({});
    expect(
      counts(
        `(local.set $p (local.tee $f (global.get $__stack_pointer))) (i32.store (local.get $p) (i32.const 1)) ${STORE}`,
      ),
    ).toEqual({});
  });

  it("no other global, no address that mixes the pointer with a variable, no masked heap address", () => {
    expect(counts("(i32.store (global.get $other) (i32.const 1))")).toEqual({ 2048: 1 });
    expect(
      counts("(i32.store (i32.add (global.get $__stack_pointer) (local.get $p)) (i32.const 1))"),
    ).toEqual({ 5120: 1 });
    expect(counts("(i32.store (i32.and (local.get $p) (i32.const -64)) (i32.const 1))")).toEqual({ 4096: 1 });
    expect(
      counts("(i32.store (i32.sub (local.get $p) (global.get $__stack_pointer)) (i32.const 1))"),
    ).toEqual({ 3072: 1 });
  });

  it("no local that may hold something else by now", () => {
    const begin = "(local.set $f (global.get $__stack_pointer))";
    expect(counts(`${begin} (if (local.get $p) (then (local.set $f (local.get $p)))) ${STORE}`)).toEqual({
      4096: 1,
    });
    expect(
      counts(`${begin} (block (br_if 0 (i32.eqz (local.get $p))) (local.set $f (local.get $p))) ${STORE}`),
    ).toEqual({ 4096: 1 });
    expect(
      counts(`${begin} (loop $again ${STORE} (local.set $p (i32.sub (local.get $p) (i32.const 2048)))
        (local.set $f (local.get $p)) (br_if $again (local.get $p)))`),
    ).toEqual({ 1024: 1, 2048: 1 });
    expect(counts(`${begin} (local.set $f (local.get $p)) ${STORE}`)).toEqual({ 4096: 1 });
  });

  it("a local that keeps the pointer through blocks and loops", () => {
    const begin = "(local.set $f (global.get $__stack_pointer))";
    expect(
      counts(`${begin} (loop $again (block ${STORE} (br_if 0 (i32.const 0))) (if (local.get $p) (then ${STORE}) (else ${STORE}))
        (br_if $again (local.tee $p (i32.shr_u (local.get $p) (i32.const 1)))))`),
    ).toEqual({});
  });

  it("no constant address: static data counts", () => {
    const constants = "(i32.store (i32.const 256) (i32.load offset=8 (i32.const 300)))";
    expect(counts(constants)).toEqual({ 256: 1, 304: 1 });
    expect(counts(constants, EXACT)).toEqual({ 256: 1, 304: 1 });
    expect(counts("(local.set $f (i32.const 64)) (i32.store offset=4 (local.get $f) (i32.const 1))")).toEqual(
      {
        64: 1,
      },
    );
    // An offset as large as an address acts as a base of its own.
    expect(counts("(i32.store offset=2048 (local.get $p) (i32.const 1))")).toEqual({ 6144: 1 });
  });
});

describe("a program that uses its stack", () => {
  const module =
    wat(`(module (memory (export "memory") 1 1) (global $__stack_pointer (export "sp") (mut i32) (i32.const 4096))
    (func $sum (export "sum") (param $n i32) (result i32) (local $f i32) (local $i i32) (local $s i32)
      (global.set $__stack_pointer (local.tee $f (i32.sub (global.get $__stack_pointer) (i32.const 64))))
      (i32.store offset=60 (local.get $f) (local.get $n))
      (loop $fill
        (i32.store8 (i32.add (local.get $f) (local.get $i)) (local.get $i))
        (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50))))
      (local.set $i (i32.const 0))
      (loop $read
        (local.set $s (i32.add (local.get $s) (i32.load8_u (i32.add (local.get $f) (local.get $i)))))
        (br_if $read (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50))))
      (if (i32.load offset=60 (local.get $f))
        (then (local.set $s (i32.add (local.get $s) (call $sum (i32.sub (local.get $n) (i32.const 1)))))))
      (memory.fill (local.get $f) (i32.const 255) (i32.const 64))
      (global.set $__stack_pointer (i32.add (local.get $f) (i32.const 64)))
      (local.get $s)))`);

  it("does the same with its stack counted and without", () => {
    const { results, total } = expectTransparent(module, [
      ["sum", 0],
      ["sum", 20],
    ]);
    expect(results).toEqual(["1225", String(21 * 1225)]);
    expect(total).toBe(22 * (1 + 50 + 50 + 1 + 8));
  });

  it("has fewer accesses counted by default", () => {
    const [all, some] = [MERGED, DEFAULT].map((options) => {
      const watched = new Watched(module, options);
      watched.call("sum", 3);
      return watched.total();
    });
    expect(some).toBeLessThan(all);
  });
});
