import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import { iterateOperators } from "../../../code/wasm/reference/operators.ts";
import { wat } from "../../../support/assemble.ts";
import { BUMP, Profiled } from "../../../support/profiled.ts";

function callOffsets(bytes: Uint8Array, name: string): number[] {
  const module = decodeModule(bytes);
  const exported = module.exports.find((entry) => entry.kind === "function" && entry.name === name);
  const body = module.bodies[(exported?.index ?? -1) - module.importedFunctionCount];
  return [...iterateOperators(module, body)]
    .filter((operator) => /^(return_)?call/.test(operator.name))
    .map(({ offset }) => offset - module.codePayloadStart);
}

const ALLOCATE = "(drop (call $malloc (i32.const 8)))";

describe("a calling context", () => {
  const module = wat(`(module (memory 32 32) ${BUMP}
    (func $leaf (export "leaf") ${ALLOCATE} (drop (call $malloc (i32.const 16))))
    (func $middle (export "middle") (call $leaf) (nop) (call $leaf))
    (func $run (export "run") (call $middle) ${ALLOCATE}))`);

  it("has the code offsets of its calls, innermost first", () => {
    const profiled = new Profiled(module);
    profiled.call("run");
    const [leaf, middle, run] = ["leaf", "middle", "run"].map((name) => callOffsets(module, name));
    expect(profiled.contexts().map(({ offsets, mib }) => [offsets, mib.allocCount])).toEqual([
      [[leaf[0], middle[0], run[0]], 1],
      [[leaf[1], middle[0], run[0]], 1],
      [[leaf[0], middle[1], run[0]], 1],
      [[leaf[1], middle[1], run[0]], 1],
      [[run[1]], 1],
    ]);
  });

  it("begins where the host came in", () => {
    const profiled = new Profiled(module);
    for (const name of ["leaf", "middle", "leaf", "run", "leaf"]) profiled.call(name);
    expect(profiled.stacks()).toEqual({ leaf: 6, "leaf < middle": 4, "leaf < middle < run": 4, run: 1 });
  });

  it("is the allocation function's own place when the host calls that", () => {
    const profiled = new Profiled(module);
    profiled.call("malloc", 8);
    profiled.call("run");
    profiled.call("malloc", 8);
    const { offsets, mib } = profiled.contexts()[0];
    const { bodies, codePayloadStart } = decodeModule(module);
    expect(offsets).toEqual([bodies[0].codeStart - codePayloadStart]);
    expect(mib.allocCount).toBe(2);
  });

  it("passes over calls below which nothing is allocated, and over covers of malloc", () => {
    const covered = wat(`(module (memory 32 32) ${BUMP}
      (func $xmalloc (param $n i32) (result i32) (local $p i32)
        (if (i32.eqz (local.tee $p (call $malloc (local.get $n)))) (then (unreachable)))
        (local.get $p))
      (func $pure (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
      (func $make (drop (call $xmalloc (call $pure (i32.const 8)))))
      (func $run (export "run") (call $make)))`);
    const profiled = new Profiled(covered);
    profiled.call("run");
    expect(profiled.stacks()).toEqual({ "make < run": 1 });
  });
});

describe("recursion", () => {
  it("that is direct has one context, however deep", () => {
    const module = wat(`(module (memory 32 32) ${BUMP}
      (func $down (param $n i32) (if (local.get $n) (then ${ALLOCATE} (call $down (i32.sub (local.get $n) (i32.const 1))))))
      (func $other (call $down (i32.const 2)))
      (func $run (export "run") (param $n i32) (call $down (local.get $n)) (call $other)))`);
    const profiled = new Profiled(module);
    profiled.call("run", 10_000);
    expect(profiled.stacks()).toEqual({ "down < run": 10_000, "down < other < run": 2 });
    profiled.call("run", 3);
    expect(profiled.stacks()).toEqual({ "down < run": 10_003, "down < other < run": 4 });
  });

  it("between several functions keeps the frame of whoever called them, and tells their calls of malloc apart", () => {
    const module = wat(`(module (memory 32 32) ${BUMP}
      (func $even (param $n i32) (if (local.get $n) (then ${ALLOCATE} (call $odd (i32.sub (local.get $n) (i32.const 1))))))
      (func $odd (param $n i32) (if (local.get $n) (then ${ALLOCATE} ${ALLOCATE} (call $even (i32.sub (local.get $n) (i32.const 1)))))
        (call $aside))
      (func $aside ${ALLOCATE})
      (func $run (export "run") (param $n i32) (call $even (local.get $n)) (call $aside)))`);
    const profiled = new Profiled(module);
    profiled.call("run", 10_000);
    const counts = profiled.contexts().map(({ stack, mib }) => `${stack.join(" < ")} ${mib.allocCount}`);
    expect(counts.sort()).toEqual([
      "aside < odd < run 5000",
      "aside < run 1",
      "even < run 5000",
      "odd < run 5000",
      "odd < run 5000",
    ]);
  });

  it("through a table is folded at the call that comes again", () => {
    const module =
      wat(`(module (memory 32 32) ${BUMP} (type $t (func (param i32))) (table 1 funcref) (elem (i32.const 0) $down)
      (func $down (type $t) (if (local.get 0) (then ${ALLOCATE} (call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
      (func $run (export "run") (param $n i32) (call $down (local.get $n))))`);
    const profiled = new Profiled(module);
    profiled.call("run", 10_000);
    expect(profiled.stacks()).toEqual({ "down < run": 1, "down < down < run": 9_999 });
    profiled.call("run", 2);
    expect(profiled.stacks()).toEqual({ "down < run": 2, "down < down < run": 10_000 });
  });

  it("in two ways through a table stays small", () => {
    const call = "(call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))";
    const module =
      wat(`(module (memory 32 32) ${BUMP} (type $t (func (param i32))) (table 1 funcref) (elem (i32.const 0) $tree)
      (func $tree (type $t) ${ALLOCATE} (if (local.get 0) (then ${call} ${call})))
      (func $run (export "run") (param $n i32) (call $tree (local.get $n))))`);
    const profiled = new Profiled(module);
    profiled.call("run", 12);
    const contexts = profiled.contexts();
    expect(contexts.length).toBeLessThan(8);
    expect(contexts.reduce((sum, { mib }) => sum + mib.allocCount, 0)).toBe(2 ** 13 - 1);
  });
});

describe("calls out of the module and back in", () => {
  const module = wat(`(module
    (import "host" "call" (func $out (param i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory 1 1) ${BUMP}
    (type $v (func (param i32)))
    (table (export "table") 4 funcref) (elem (i32.const 0) $out $inner)
    (func $allocate ${ALLOCATE})
    (func $inner (export "inner") (param i32) (call $allocate) (if (local.get 0) (then (call $out (local.get 0)))) (call $allocate))
    (func $outer (export "outer") (param i32) (call $allocate) (call $out (local.get 0)) (call $allocate))
    (func $run (export "run") (param i32) (call $outer (local.get 0)) (call $allocate))
    (func $indirect (export "indirect") (param i32) (call $through (local.get 0)) (call $allocate))
    (func $through (param i32) (call_indirect (type $v) (local.get 0) (i32.const 0)) (call $allocate))
    (func $last (param i32) (return_call $out (local.get 0)))
    (func $tail (export "tail") (param i32) (call $last (local.get 0)) (call $allocate))
    (func $trap (export "trap") (param i32) (call $allocate) (if (local.get 0) (then (call $out (local.get 0)))) (unreachable))
    (func $pair (export "pair") (param i32) (result i32 i64) (call $out (local.get 0)) (i32.const 1) (i64.const 2))
    (func $leave (export "leave") (call $allocate) (call $exit (i32.const 3))))`);
  type Exports = Record<string, (...operands: unknown[]) => unknown>;
  const entered = (out: (exports: Exports, n: number) => void) =>
    new Profiled(module, {
      imports: (exports) => ({
        host: { call: (n: number) => out(exports(), n) },
        wasi_snapshot_preview1: {
          proc_exit: (code: number) => {
            throw new Error(`exit ${code}`);
          },
        },
      }),
    });

  it("nest: the host's callers are below what it calls", () => {
    const profiled = entered((exports, n) => exports.inner(n - 1));
    profiled.call("run", 3);
    expect(profiled.stacks()).toEqual({
      "allocate < outer < run": 2,
      // The third entry repeats a call of the host, and is folded.
      "allocate < inner < outer < run": 2,
      "allocate < inner < inner < outer < run": 4,
      "allocate < run": 1,
    });
  });

  it("may come back several times, through exports and tables, and to malloc itself", () => {
    const profiled = entered((exports) => {
      for (let i = 0; i < 3; i++) exports.inner(0);
      const inner = (exports.table as unknown as WebAssembly.Table).get(1) as (n: number) => void;
      for (let i = 0; i < 3; i++) inner(0);
      exports.malloc(8);
    });
    profiled.call("run", 1);
    expect(profiled.stacks()).toEqual({
      "allocate < outer < run": 2,
      "allocate < inner < outer < run": 12,
      "outer < run": 1,
      "allocate < run": 1,
    });
  });

  it("may leave through a table or in a tail call", () => {
    const profiled = entered((exports) => exports.inner(0));
    profiled.call("indirect", 1);
    profiled.call("tail", 1);
    expect(Object.entries(profiled.stacks())).toEqual([
      ["allocate < inner < through < indirect", 2],
      ["allocate < through < indirect", 1],
      ["allocate < indirect", 1],
      [expect.stringMatching(/^allocate < inner < (last < )?tail$/), 2],
      ["allocate < tail", 1],
    ]);
  });

  it("may bring back an exception: what comes next has its own context", () => {
    const profiled = entered((_exports, n) => {
      throw new Error(`of the host ${n}`);
    });
    for (const name of ["run", "indirect", "tail", "pair"])
      for (let i = 0; i < 3; i++) expect(() => profiled.call(name, i + 1), name).toThrow("of the host");
    expect(() => profiled.call("leave")).toThrow("exit 3");
    profiled.call("inner", 0);
    expect(profiled.stacks()).toEqual({
      "allocate < outer < run": 3,
      "allocate < leave": 1,
      "allocate < inner": 2,
    });
  });

  it("may bring an exception through nested frames into a handler of the host", () => {
    const profiled = entered((exports, n) => {
      if (n === 0) throw new Error("innermost");
      try {
        exports.inner(n - 1);
        exports.run(n - 1);
      } catch {
        exports.inner(0);
      }
    });
    profiled.call("run", 2);
    profiled.call("inner", 0);
    expect(profiled.stacks()).toMatchObject({ "allocate < inner": 2, "allocate < run": 1 });
    const stack = "allocate < inner < outer < run < outer < run";
    expect(Object.keys(profiled.stacks())).toContain(
      `${stack.slice(0, stack.indexOf(" < run < outer"))} < run`,
    );
  });

  it("may trap: what comes next has its own context", () => {
    const profiled = entered(() => undefined);
    for (let i = 0; i < 3; i++) expect(() => profiled.call("trap", 0)).toThrow("unreachable");
    profiled.call("inner", 0);
    expect(profiled.stacks()).toEqual({ "allocate < trap": 3, "allocate < inner": 2 });
  });

  it("may trap below frames of the host: what comes next has its own context", () => {
    const profiled = entered((exports) => exports.trap(0));
    for (let i = 0; i < 3; i++) expect(() => profiled.call("run", 1)).toThrow("unreachable");
    profiled.call("inner", 0);
    expect(profiled.stacks()).toEqual({
      "allocate < outer < run": 3,
      "allocate < trap < outer < run": 3,
      "allocate < inner": 2,
    });
  });

  it("may run out of stack: what comes next has its own context", () => {
    const endless =
      wat(`(module (memory 32 32) ${BUMP} (type $t (func)) (table 1 funcref) (elem (i32.const 0) $down)
      (func $down (type $t) (call_indirect (type $t) (i32.const 0)) ${ALLOCATE})
      (func $run (export "run") (call $down))
      (func $calm (export "calm") ${ALLOCATE}))`);
    const profiled = new Profiled(endless);
    for (let i = 0; i < 2; i++)
      expect(() => profiled.call("run")).toThrow("Maximum call stack size exceeded");
    profiled.call("calm");
    expect(profiled.stacks()).toEqual({ calm: 1 });
  });
});

describe("a deep stack", () => {
  it("of thousands of frames through tables of functions is decoded to its end", () => {
    // Each function calls the next one through the table: no call is on the path twice.
    const depth = 2_000;
    const functions = Array.from(
      { length: depth },
      (_, i) =>
        `(func $f${i} (type $t) ${i + 1 < depth ? `(call_indirect (type $t) (i32.const ${i + 1}))` : ALLOCATE})`,
    );
    const module = wat(`(module (memory 32 32) ${BUMP} (type $t (func)) (table ${depth} funcref)
      (elem (i32.const 0) ${functions.map((_, i) => `$f${i}`).join(" ")}) ${functions.join("\n")}
      (func $run (export "run") (call $f0)))`);
    const profiled = new Profiled(module);
    profiled.call("run");
    profiled.call("run");
    const { stack, mib } = profiled.only();
    expect(mib.allocCount).toBe(2);
    expect(stack.length).toBe(depth + 1);
    expect([stack[0], stack[1], stack.at(-1)]).toEqual([`f${depth - 1}`, `f${depth - 2}`, "run"]);
  });
});
