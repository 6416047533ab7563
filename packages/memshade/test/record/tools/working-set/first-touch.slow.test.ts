import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { attributed, linesByContext, totals } from "../../../support/attributed.ts";

const call =
  (name: string, ...operands: number[]) =>
  (instance: WebAssembly.Instance) =>
    (instance.exports[name] as (...operands: number[]) => unknown)(...operands);

const FIRST_TOUCH = { attribution: { firstTouch: true } };

describe("the context that touches a line first", () => {
  it("gets it, whoever comes behind (worked example 30)", () => {
    const module = wat(`(module (memory 1)
      (func $p (param i32) (drop (i32.load (i32.shl (local.get 0) (i32.const 6)))))
      (func $q (param i32) (i32.store (i32.shl (local.get 0) (i32.const 6)) (i32.const 1)))
      (func (export "run")
        (call $p (i32.const 1)) (call $p (i32.const 2))
        (call $q (i32.const 2)) (call $q (i32.const 3))
        (call $p (i32.const 3))))`);
    const { firstTouch, levels } = attributed(module, FIRST_TOUCH, call("run"));
    const [{ intervals }] = firstTouch?.levels ?? [];
    const byFunction = new Map<string | undefined, number>();
    for (const [number, lines] of intervals[0]) {
      const name = firstTouch?.contexts[number].stack[0].name;
      byFunction.set(name, (byFunction.get(name) ?? 0) + lines);
    }
    expect(Object.fromEntries(byFunction)).toEqual({ p: 2, q: 1 });
    expect(levels[0].counts.lines).toEqual([3]);
  });

  it("is an instruction and the calls that lead to it", () => {
    const module = wat(`(module (memory 1)
      (func $leaf (param i32) (i32.store (local.get 0) (i32.const 1)))
      (func $middle (param i32) (call $leaf (local.get 0)) (call $leaf (i32.add (local.get 0) (i32.const 64))))
      (func $run (export "run") (call $leaf (i32.const 0)) (call $middle (i32.const 640))))`);
    const { firstTouch } = attributed(module, FIRST_TOUCH, call("run"));
    const stacks = (firstTouch?.contexts ?? []).map(({ stack }) => stack).sort((a, b) => a.length - b.length);
    expect(stacks.map((stack) => stack.map(({ name }) => name))).toEqual([
      ["leaf", "run"],
      ["leaf", "middle", "run"],
      ["leaf", "middle", "run"],
    ]);
    // The instruction is the same in all stacks; the calls in the middle differ.
    expect(new Set(stacks.map(([{ offset }]) => offset)).size).toBe(1);
    expect(stacks[1][1].offset).not.toBe(stacks[2][1].offset);
  });

  it("is the earlier instruction, also in one block, across two lines and behind a loop's marks", () => {
    const module = wat(`(module (memory 1)
      (func $first (param $a i32) (param $b i32)
        (i32.store (local.get $a) (i32.const 1))
        (drop (i64.load (local.get $b)))
        (i32.store offset=128 (local.get $a) (i32.const 1)))
      (func $walk (param $n i32)
        (loop $next
          (i32.store (local.get $n) (i32.const 1))
          (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 4))))))
      (func (export "block") (call $first (i32.const 1024) (i32.const 1148)))
      (func (export "loop") (drop (i32.load (i32.const 128))) (call $walk (i32.const 256))))`);
    // The wide load touches first the line that it begins in and the next one; the last store touches that one second.
    const { firstTouch } = attributed(module, FIRST_TOUCH, call("block"));
    expect(firstTouch?.contexts.map(({ total }) => total)).toEqual([2, 1]);
    const loop = attributed(module, FIRST_TOUCH, call("loop"));
    expect(totals(loop.firstTouch as never)).toEqual({ "walk < loop": 4, loop: 1 });
    expect(loop.total.lines).toBe(5);
  });

  it("is the same, and so are the bytes touched, in a function too large for inline code", () => {
    const padded = (nops: number) =>
      wat(`(module (memory (export "memory") 4 4)
        (func $run (export "run") (param $a i32) (param $b i32)
          (i32.store8 offset=63 (local.get $a) (i32.const 1))
          (drop (v128.load offset=60 (local.get $b)))
          (loop $next
            (i64.store (local.get $b) (i64.const 1))
            (br_if $next (i32.lt_u (local.tee $b (i32.add (local.get $b) (i32.const 56))) (i32.const 3000))))
          (i32.store (i32.const 0x3fffc) (i32.load16_u offset=62 (i32.const 0x8000)))
          ${"nop ".repeat(nops)}))`);
    const [small, large] = [0, 300_000].map((nops) => {
      const options = { interval: 10, attribution: { firstTouch: true, fill: true } };
      const told = attributed(padded(nops), options, call("run", 0x1000, 0x400));
      const { fill, total, firstTouch } = told;
      const lines = firstTouch?.contexts.map(({ stack, total }) => [stack[0].name, total]);
      return { fill, total, lines, levels: firstTouch?.levels };
    });
    expect(small.lines?.length).toBeGreaterThan(3);
    expect(large).toEqual(small);
  });

  it("is told per interval and per time scale", () => {
    const module = wat(`(module (memory 1)
      (func $a (export "a") (param i32) (drop (i32.load (local.get 0))))
      (func $b (export "b") (param i32) (drop (i32.load (local.get 0)))))`);
    const { firstTouch } = attributed(module, { ...FIRST_TOUCH, interval: 2 }, ({ exports }) => {
      const { a, b } = exports as Record<string, (address: number) => void>;
      // Intervals: {a: 0, 1} {b: 0, 1} {b: 0, a: 2} {a: 0} …
      for (const [touch, line] of [
        [a, 0],
        [a, 1],
        [b, 0],
        [b, 1],
        [b, 0],
        [a, 2],
        [a, 0],
      ] as const)
        touch(line * 64);
    });
    const [shortest, longer] = firstTouch?.levels ?? [];
    const named = (intervals: typeof shortest.intervals) =>
      intervals.map((lines) => linesByContext(firstTouch as never, lines));
    expect(named(shortest.intervals)).toEqual([{ a: 2 }, { b: 2 }, { b: 1, a: 1 }, { a: 1 }]);
    expect(longer.factor).toBe(4);
    expect(named(longer.intervals)).toEqual([{ a: 3 }]);
    expect(totals(firstTouch as never)).toEqual({ a: 3, b: 0 });
  });

  it("is the bulk instruction, or the call of the host that touches memory", () => {
    const module = wat(`(module
      (import "env" "touch" (func $touch))
      (memory (export "memory") 1)
      (func $clear (memory.fill (i32.const 0) (i32.const 1) (i32.const 200)))
      (func $copy (memory.copy (i32.const 1024) (i32.const 128) (i32.const 64)))
      (func $ask (call $touch))
      (func (export "run") (call $clear) (call $copy) (call $ask)))`);
    let wrote: ((address: number, bytes: number) => void) | undefined;
    const imports = { env: { touch: () => wrote?.(4096, 65) } };
    const { firstTouch } = attributed(module, { ...FIRST_TOUCH, imports }, (instance) => {
      wrote = instance.exports["memshade.workingset.hostWrote"] as never;
      call("run")(instance);
    });
    expect(totals(firstTouch as never)).toEqual({ "clear < run": 4, "copy < run": 1, "ask < run": 2 });
  });

  it("keeps the context of recursion as it was entered", () => {
    const module = wat(`(module (memory 1)
      (func $down (param $n i32)
        (i32.store (i32.shl (local.get $n) (i32.const 6)) (i32.const 1))
        (if (local.get $n) (then (call $down (i32.sub (local.get $n) (i32.const 1))))))
      (func (export "run") (param i32) (call $down (local.get 0))))`);
    const { firstTouch } = attributed(module, FIRST_TOUCH, call("run", 500));
    expect(totals(firstTouch as never)).toEqual({ "down < run": 501 });
  });

  it("goes on behind traps, exceptions and calls back from the host", () => {
    const module = wat(`(module
      (import "env" "back" (func $back))
      (memory (export "memory") 1)
      (func $touch (param i32) (i32.store (local.get 0) (i32.const 1)))
      (func $inner (export "inner") (call $touch (i32.const 64)))
      (func $outer (export "outer") (call $back) (call $touch (i32.const 128)))
      (func (export "trap") (call $touch (i32.const 192)) (call $touch (i32.const -1))))`);
    const back = { call: () => {} };
    const imports = { env: { back: () => back.call() } };
    const { firstTouch } = attributed(module, { ...FIRST_TOUCH, imports }, (instance) => {
      const { inner, outer, trap } = instance.exports as Record<string, () => void>;
      expect(trap).toThrow(WebAssembly.RuntimeError);
      back.call = inner;
      outer();
    });
    expect(totals(firstTouch as never)).toEqual({
      "touch < trap": 1,
      "touch < inner < outer": 1,
      "touch < outer": 1,
    });
  });

  it("is known in 64-bit memories", () => {
    const module = wat(`(module (memory i64 1)
      (func $touch (param i64) (i64.store (local.get 0) (i64.const 1)))
      (func (export "run") (call $touch (i64.const 60)) (call $touch (i64.const 640))))`);
    const { firstTouch, fill } = attributed(module, {}, call("run"));
    expect(firstTouch?.contexts.map(({ total }) => total)).toEqual([2, 1]);
    expect(fill).toBeUndefined();
  });
});
