import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { Wasted } from "../../../support/wasted.ts";

const STORE = "(i32.store (i32.const 8) (i32.const 1))";

/** Stacks of a run, after a check that both engines find the same. */
function stacksOf(
  module: Uint8Array,
  run: (wasted: Wasted) => void,
  options: WasteOptions = {},
): Record<string, number> {
  const stacks = [{}, { pairs: true }].map((waste) => {
    const wasted = new Wasted(module, {}, { ...options, ...waste });
    run(wasted);
    return wasted.stacks();
  });
  expect(stacks[1]).toEqual(stacks[0]);
  return stacks[0];
}

describe("the calling context of an access", () => {
  it("is the calls that lead to it", () => {
    const module = wat(`(module (memory 1 8)
      (func $leaf (export "leaf") ${STORE} (drop (i32.load (i32.const 8))))
      (func $middle (export "middle") (call $leaf) (nop) (call $leaf))
      (func $run (export "run") (call $middle) ${STORE}))`);
    const names = ["leaf", "middle", "run", "leaf"];
    const run = (wasted: Wasted) => {
      for (const name of names) wasted.call(name);
    };
    expect(stacksOf(module, run)).toEqual({
      leaf: 2,
      "leaf < middle": 2,
      "leaf < middle < run": 2,
      run: 1,
    });
  });

  it("tells whose store is overwritten, read and silent", () => {
    const module = wat(`(module (memory 1 8)
      (func $set (param i32 i32) (i32.store (local.get 0) (local.get 1)))
      (func $get (param i32) (result i32) (i32.load (local.get 0)))
      (func $dead (call $set (i32.const 8) (i32.const 1)))
      (func $used (call $set (i32.const 8) (i32.const 2)) (drop (call $get (i32.const 8))))
      (func $again (call $set (i32.const 8) (i32.const 2)) (drop (call $get (i32.const 8))) (drop (call $get (i32.const 8))))
      (func (export "run") (call $dead) (call $used) (call $again)))`);
    const wasted = new Wasted(module);
    wasted.call("run");
    const { stores, loads } = wasted.contents();
    expect(stores.map(({ read, overwritten, exit, silent }) => [read, overwritten, exit, silent])).toEqual([
      [0, 4, 0, 0],
      [4, 0, 0, 0],
      [4, 0, 0, 1],
    ]);
    expect(loads.map(({ loads: count, silent }) => [count, silent])).toEqual([
      [1, 0],
      [1, 0],
      [1, 1],
    ]);
  });

  it("is told apart from thousands of others", () => {
    const calls = (to: string) => `(call ${to}) (nop) (call ${to}) (nop) (call ${to}) (nop) (call ${to})`;
    const depth = 5;
    const functions = Array.from({ length: depth }, (_, i) => `(func $f${i} ${calls(`$f${i + 1}`)})`);
    const module = wat(`(module (memory 1 8) ${functions.join(" ")}
      (func $f${depth} ${STORE}) (func (export "run") (call $f0)))`);
    const wasted = new Wasted(module);
    for (let times = 1; times <= 2; times++) {
      wasted.call("run");
      const { stores } = wasted.contents();
      expect(stores.length).toBe(4 ** depth);
      expect(stores.every((store) => store.stores === times)).toBe(true);
      expect(new Set(stores.map(({ path }) => path.join())).size).toBe(4 ** depth);
    }
  });

  it("has a start function, calls through tables, and tail calls", () => {
    const module = wat(`(module (memory 1 8) (type $t (func)) (table 2 funcref) (elem (i32.const 0) $one $two)
      (func $first ${STORE} (call $one)) (start $first)
      (func $one ${STORE}) (func $two (call $one))
      (func $through (param i32) (call_indirect (type $t) (local.get 0)))
      (func $tail (return_call $one))
      (func $last (param i32) (return_call_indirect (type $t) (local.get 0)))
      (func $run (export "run")
        (call $through (i32.const 0)) (call $through (i32.const 1)) (call $through (i32.const 0))
        (call $tail) (call $last (i32.const 0)) (call $last (i32.const 1))))`);
    expect(stacksOf(module, (wasted) => wasted.call("run"))).toEqual({
      first: 1,
      "one < first": 1,
      "one < through < run": 2,
      "one < two < through < run": 1,
      "one < tail < run": 1,
      "one < last < run": 1,
      "one < two < last < run": 1,
    });
  });

  it("has covers of the allocator that call something else too", () => {
    const module = wat(`(module (memory 1 8) (type $t (func)) (table 1 funcref) (elem (i32.const 0) $handler)
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 0))
      (func $free (export "free") (param i32))
      (func $deeper ${STORE})
      (func $handler ${STORE} (call $deeper))
      (func $xmalloc (param $n i32) (result i32) (local $p i32)
        (if (i32.eqz (local.tee $p (call $malloc (local.get $n))))
          (then (call $handler) (call $handler)))
        (local.get $p))
      (func $make (drop (call $xmalloc (i32.const 8))) ${STORE})
      (func $run (export "run") (call $make)))`);
    expect(stacksOf(module, (wasted) => wasted.call("run"))).toEqual({
      "make < run": 1,
      "handler < xmalloc < make < run": 2,
      "deeper < handler < xmalloc < make < run": 2,
    });
  });

  it("is that of the call which asked for zeros, or of the allocator where nobody sees that", () => {
    const module = wat(`(module (memory 1 8) (type $t (func (param i32 i32) (result i32)))
      (table 1 funcref) (elem (i32.const 0) $calloc)
      (func $malloc (export "malloc") (param i32) (result i32) (i32.const 64))
      (func $free (export "free") (param i32))
      (func $calloc (export "calloc") (param i32 i32) (result i32) (i32.const 128))
      (func $make (drop (call $calloc (i32.const 2) (i32.const 8))))
      (func $through (drop (call_indirect (type $t) (i32.const 1) (i32.const 8) (i32.const 0))))
      (func $run (export "run") (call $make) (call $through)))`);
    expect(stacksOf(module, (wasted) => wasted.call("run"))).toEqual({
      "make < run": 1,
      "calloc < through < run": 1,
    });
    const wasted = new Wasted(module);
    wasted.call("calloc", 1, 4);
    wasted.call("run");
    wasted.call("calloc", 1, 4);
    expect(wasted.stacks()).toMatchObject({ calloc: 2, "make < run": 1 });
  });

  it("has what the host writes where the host was called", () => {
    const module = wat(`(module
      (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 1 8)
      (func $get (drop (call $read (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 16))))
      (func (export "_start") (call $get)))`);
    for (const waste of [{}, { pairs: true }]) {
      const wasted = new Wasted(
        module,
        {
          imports: (exports) => ({
            wasi_snapshot_preview1: { fd_read: () => exports()["memshade.waste.hostWrote"](16, 4) },
          }),
        },
        waste,
      );
      wasted.call("_start");
      expect(wasted.stacks()).toEqual({ "get < _start": 1 });
    }
  });
});

describe("recursion", () => {
  it("has the context in which it was entered, however deep", () => {
    const module = wat(`(module (memory 1 8)
      (func $down (param $n i32) (if (local.get $n) (then ${STORE} (call $down (i32.sub (local.get $n) (i32.const 1))))))
      (func $other (call $down (i32.const 2)))
      (func $run (export "run") (param $n i32) (call $down (local.get $n)) (call $other)))`);
    expect(stacksOf(module, (wasted) => wasted.call("run", 1000))).toEqual({
      "down < run": 1000,
      "down < other < run": 2,
    });
  });

  it("between several functions keeps the context, and what they call has the place of its call", () => {
    const module = wat(`(module (memory 1 8)
      (func $even (param $n i32) (if (local.get $n) (then ${STORE} (call $odd (i32.sub (local.get $n) (i32.const 1))))))
      (func $odd (param $n i32) (if (local.get $n) (then ${STORE} ${STORE} (call $even (i32.sub (local.get $n) (i32.const 1)))))
        (call $aside))
      (func $aside ${STORE})
      (func $run (export "run") (param $n i32) (call $even (local.get $n)) (call $aside)))`);
    expect(stacksOf(module, (wasted) => wasted.call("run", 1000))).toEqual({
      "even < run": 500,
      "odd < run": 1000,
      "aside < odd < run": 500,
      "aside < run": 1,
    });
  });

  it("through a table is folded at the call that comes again", () => {
    const call = "(call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))";
    const module =
      wat(`(module (memory 1 8) (type $t (func (param i32))) (table 1 funcref) (elem (i32.const 0) $tree)
      (func $tree (type $t) ${STORE} (if (local.get 0) (then ${call} ${call})))
      (func $run (export "run") (param $n i32) (call $tree (local.get $n))))`);
    const stacks = stacksOf(module, (wasted) => wasted.call("run", 10));
    expect(Object.keys(stacks).length).toBeLessThan(8);
    expect(Object.values(stacks).reduce((a, b) => a + b)).toBe(2 ** 11 - 1);
  });
});

describe.each([{}, { pairs: true }])("calls out of the module and back in, %j", (waste) => {
  const module = wat(`(module
    (import "host" "call" (func $out (param i32)))
    (memory 1 8)
    (type $v (func (param i32)))
    (table (export "table") 4 funcref) (elem (i32.const 0) $out $inner)
    (func $store ${STORE})
    (func $inner (export "inner") (param i32) (call $store) (if (local.get 0) (then (call $out (local.get 0)))) (call $store))
    (func $outer (export "outer") (param i32) (call $store) (call $out (local.get 0)) (call $store))
    (func $run (export "run") (param i32) (call $outer (local.get 0)) (call $store))
    (func $through (export "through") (param i32) (call_indirect (type $v) (local.get 0) (i32.const 0)) (call $store))
    (func $trap (export "trap") (param i32) (call $store) (unreachable)))`);
  type Exports = Record<string, (...operands: unknown[]) => unknown>;
  const entered = (out: (exports: Exports, n: number) => void) =>
    new Wasted(
      module,
      { imports: (exports) => ({ host: { call: (n: number) => out(exports(), n) } }) },
      waste,
    );
  /** Leaves out stores that the host may have made itself. */
  const inside = (wasted: Wasted) =>
    Object.fromEntries(Object.entries(wasted.stacks()).filter(([path]) => path.startsWith("store")));

  it("nest: the host's callers are below what it calls", () => {
    const wasted = entered((exports, n) => exports.inner(n - 1));
    wasted.call("run", 3);
    expect(inside(wasted)).toEqual({
      "store < outer < run": 2,
      // The third entry repeats a call of the host, and is folded.
      "store < inner < outer < run": 2,
      "store < inner < inner < outer < run": 4,
      "store < run": 1,
    });
  });

  it("may come back several times, through exports and tables", () => {
    const wasted = entered((exports) => {
      for (let i = 0; i < 3; i++) exports.inner(0);
      const inner = (exports.table as unknown as WebAssembly.Table).get(1) as (n: number) => void;
      for (let i = 0; i < 3; i++) inner(0);
    });
    wasted.call("run", 1);
    expect(inside(wasted)).toEqual({
      "store < outer < run": 2,
      "store < inner < outer < run": 12,
      "store < run": 1,
    });
  });

  it("may leave through a table", () => {
    const wasted = entered((exports) => exports.inner(0));
    wasted.call("through", 1);
    expect(inside(wasted)).toEqual({ "store < inner < through": 2, "store < through": 1 });
  });

  it("may bring back an exception or trap: what comes next has its own context", () => {
    const wasted = entered((exports, n) => {
      if (n === 1) throw new Error("of the host");
      exports.trap(0);
    });
    for (const name of ["run", "through"])
      for (let i = 0; i < 2; i++) {
        expect(() => wasted.call(name, 1)).toThrow("of the host");
        expect(() => wasted.call(name, 2)).toThrow(WebAssembly.RuntimeError);
      }
    wasted.call("inner", 0);
    expect(inside(wasted)).toEqual({
      "store < outer < run": 4,
      "store < trap < outer < run": 2,
      "store < trap < through": 2,
      "store < inner": 2,
    });
  });
});

describe("exceptions", () => {
  const module = wat(`(module (memory 1 8) (tag $t)
    (func $store ${STORE})
    (func $deep (call $store) (throw $t))
    (func $middle (call $store) (call $deep))
    (func $old (export "old")
      (try (do (call $middle)) (catch $t (call $store))) (call $store)
      (try (do (call $middle)) (catch_all ${STORE})) ${STORE})
    (func $new (export "new")
      (block $done (try_table (catch $t $done) (call $middle))) ${STORE} (call $store))
    (func $again (export "again") (local $n i32)
      (loop $next
        ${STORE}
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (if (i32.lt_s (local.get $n) (i32.const 3)) (then (try_table (catch_all $next) (call $middle))))))
    (func $out (export "out") (call $middle)))`);
  const old = { "store < middle < old": 2, "store < deep < middle < old": 2, "store < old": 2, old: 2 };

  it("bring back the context of whoever catches them", () => {
    expect(stacksOf(module, (wasted) => wasted.call("old"))).toEqual(old);
  });

  it("do so through tables of clauses too", () => {
    expect(stacksOf(module, (wasted) => wasted.call("new"))).toEqual({
      "store < middle < new": 1,
      "store < deep < middle < new": 1,
      new: 1,
      "store < new": 1,
    });
    expect(stacksOf(module, (wasted) => wasted.call("again"))).toEqual({
      again: 3,
      "store < middle < again": 2,
      "store < deep < middle < again": 2,
    });
  });

  it("end all contexts when they leave the module", () => {
    const stacks = stacksOf(module, (wasted) => {
      expect(() => wasted.call("out")).toThrow();
      wasted.call("old");
    });
    expect(stacks).toEqual({ ...old, "store < middle < out": 1, "store < deep < middle < out": 1 });
  });
});

describe("bounds", () => {
  it("let contexts share a frame without callers when memory for frames is full", () => {
    const [sites, callers] = [40_000, 800];
    const stores = Array.from({ length: sites }, () => "(i32.store (local.get 0) (i32.const 1))").join("");
    const module = wat(`(module (memory 1 8)
      (func $small ${STORE})
      (func $large (param i32) ${STORE} (if (local.get 0) (then ${stores})) (call $small))
      (func $run (export "run") ${"(call $large (i32.const 0))".repeat(callers)}))`);
    const wasted = new Wasted(module);
    wasted.call("run");
    wasted.call("run");
    const file = wasted.file();
    const told = file.stores.filter(({ ips }) => ips.length > 1);
    const { large, small, ...inContext } = wasted.stacks(file);
    expect(inContext["large < run"] + large).toBe(2 * callers);
    expect(inContext["small < large < run"] + small).toBe(2 * callers);
    expect(large).toBe(small);
    // The number of 1.6 MB frames that fit into a GiB.
    expect(told.length / 2).toBe(Math.floor(2 ** 30 / (sites * 48 + 136)));
    expect(file.notTracked).toContain(
      `The tables of call paths were full: ${large + small} accesses are counted without their call paths.`,
    );
  });

  it("leave contexts that are seldom used out of what is told, not their accesses", () => {
    const [leaves, callers] = [260, 260];
    const module = wat(`(module (memory 1 8)
      (func $leaf ${STORE.repeat(leaves)})
      (func $run (export "run") ${"(call $leaf)".repeat(callers)})
      (func $busy (call $leaf) (call $leaf))
      (func (export "again") (call $busy) (call $busy)))`);
    const wasted = new Wasted(module);
    wasted.call("run");
    for (let i = 0; i < 3; i++) wasted.call("again");
    const { stores, contextsLeft, accessesLeft } = wasted.contents();
    expect(stores.reduce((sum, { stores: count }) => sum + count, 0)).toBe(leaves * (callers + 12));
    // All contexts ran once and are equal, so none of them is listed.
    expect([contextsLeft, accessesLeft]).toEqual([leaves * callers, leaves * callers]);
    const { leaf, ...told } = wasted.stacks();
    expect(leaf).toBe(leaves * callers);
    expect(Object.values(told).reduce((a, b) => a + b)).toBe(leaves * 12);
  });
});
