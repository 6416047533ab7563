import { describe, expect, it } from "vitest";
import {
  type InstrumentOptions,
  instrument,
  type WorkingSetLayout,
} from "../../../src/record/tools/index.ts";
import { FRESH_BUCKET } from "../../../src/record/tools/working-set/layout.ts";
import { WorkingSetReader } from "../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../support/assemble.ts";
import type { Variant } from "../../support/behaviour.ts";
import { BUMP, Profiled } from "../../support/profiled.ts";
import { heapVariants, TOOL_VARIANTS } from "../../support/tool-variants.ts";
import { Wasted } from "../../support/wasted.ts";

type Exports = Record<string, (...operands: unknown[]) => unknown>;

const VARIANTS: readonly Variant[] = [...TOOL_VARIANTS, ...heapVariants("malloc=malloc,free=free")];
const ALLOCATE = "(drop (call $malloc (i32.const 8)))";

function instantiate(bytes: Uint8Array, options: InstrumentOptions, imports: WebAssembly.Imports = {}) {
  const { bytes: rewritten, info } = instrument(bytes, options);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(rewritten as BufferSource), imports);
  const memory = exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  return {
    exports: exports as Exports,
    accesses: () => new WorkingSetReader(memory, layout).read().accesses,
  };
}

function tableOf(exports: Exports): WebAssembly.Table {
  return exports.table as unknown as WebAssembly.Table;
}

describe("a function that the host can get hold of", () => {
  const module = wat(`(module (import "host" "other" (func $other)) (memory 1) ${BUMP}
    (export "again" (func $other)) (export "too" (func $other))
    (table (export "table") 4 funcref) (elem (i32.const 0) $f $other)
    (global (export "global") funcref (ref.func $f))
    (func $f (export "f") (export "g") ${ALLOCATE} (drop (i32.load (i32.const 8))))
    (func (export "give") (result funcref) (ref.func $f)))`);
  const other = new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource), {
    host: { other: () => undefined },
  }).exports.f as () => void;

  it.each(VARIANTS)("is the same wherever that finds it: $name", ({ options }) => {
    const { exports } = instantiate(module, options, { host: { other } });
    const { f, g, give, again, too } = exports;
    const global = exports.global as unknown as WebAssembly.Global<"anyfunc">;
    for (const found of [g, give(), global.value, tableOf(exports).get(0)]) expect(found).toBe(f);
    for (const found of [again, too, tableOf(exports).get(1)]) expect(found).toBe(other);
    // Engines name functions by their index.
    expect([f.name, f.length]).toEqual(["3", 0]);
  });

  it.each(VARIANTS)("may be declared by its export alone: $name", ({ options }) => {
    const declared = wat(`(module (memory 1) ${BUMP} (type $t (func))
      (func $f (export "f") ${ALLOCATE})
      (table 1 funcref)
      (func (export "last") (table.set (i32.const 0) (ref.func $f)) (return_call_indirect (type $t) (i32.const 0))))`);
    expect(instantiate(declared, options).exports.last).not.toThrow();
  });
});

describe("the host's calls through a table", () => {
  const library = `(module (import "host" "look" (func $look)) (memory (export "memory") 1) (type $t (func))
    (table (export "table") 4 funcref) (elem (i32.const 0) $store $look)
    (func $store (i32.store (i32.const 64) (i32.add (i32.load (i32.const 128)) (global.get $n)))
      (global.set $n (i32.add (global.get $n) (i32.const 1))))
    (global $n (mut i32) (i32.const 1))
    (func (export "twice") (call_indirect (type $t) (i32.const 0)) (call_indirect (type $t) (i32.const 0)))
    (func (export "around") (call $store) (call_indirect (type $t) (i32.const 1)) (call $store)))`;
  const host = { look() {} };

  it("are told of at once, as those of exports are", () => {
    const { exports, accesses } = instantiate(wat(library), { tools: ["workingset"] }, { host });
    const store = tableOf(exports).get(0) as () => void;
    for (let calls = 1; calls <= 3; calls++) {
      store();
      expect(accesses()).toBe(2 * calls);
    }
    exports.twice();
    expect(accesses()).toBe(10);
  });

  const dead = (calls: (exports: Exports) => void) => {
    const wasted = new Wasted(wat(library), { imports: () => ({ host }) }, { contexts: false });
    calls(wasted.exports);
    return wasted.contents().stores.reduce((sum, { overwritten }) => sum + overwritten, 0);
  };

  it("lead out wherever no function of the module's own is in a table", () => {
    const wasted = new Wasted(
      wat(`(module (import "host" "look" (func $look)) (memory (export "memory") 1) (type $t (func))
        (table 1 funcref) (elem (i32.const 0) $look)
        (func (export "around")
          (i32.store (i32.const 64) (i32.const 1))
          (call_indirect (type $t) (i32.const 0))
          (i32.store (i32.const 64) (i32.const 2))))`),
      { imports: () => ({ host }) },
      { contexts: false },
    );
    wasted.call("around");
    expect(wasted.contents().stores.reduce((sum, { overwritten }) => sum + overwritten, 0)).toBe(0);
  });

  it("leave it in control between them: it may have read what they stored", () => {
    const store = ({ table }: Exports) => (table as unknown as WebAssembly.Table).get(0) as () => void;
    expect(dead((exports) => [store(exports)(), store(exports)()])).toBe(0);
  });

  it("are not what the module calls through it, but for a function of the host", () => {
    expect(dead((exports) => exports.twice())).toBe(4);
    expect(dead((exports) => exports.around())).toBe(0);
  });
});

it("a function of the host that is called through a table has control also behind an exception that it catches", () => {
  const module =
    wat(`(module (import "host" "look" (func $look)) (memory (export "memory") 1) (tag $e) (type $t (func))
    (table 1 funcref) (elem (i32.const 0) $look)
    (func $store (param i32) (i32.store (i32.const 64) (local.get 0)))
    (func (export "back") (call $store (i32.const 1)) (throw $e))
    (func (export "around") (call_indirect (type $t) (i32.const 0)) (call $store (i32.const 2))))`);
  const imports = (exports: () => Exports) => ({ host: { look: () => expect(exports().back).toThrow() } });
  for (const contexts of [false, true]) {
    const wasted = new Wasted(module, { imports }, { contexts });
    wasted.call("around");
    expect(wasted.contents().stores.reduce((sum, { overwritten }) => sum + overwritten, 0)).toBe(0);
  }
});

it("the start function is entered by the host", () => {
  const module = wat(`(module (memory 1) (func $start (local i32)
    (loop $more
      (drop (i32.load (local.get 0)))
      (br_if $more (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 64))) (i32.const 6400)))))
    (start $start))`);
  const { bytes, info } = instrument(module, { tools: ["workingset"], workingset: { interval: 10 } });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  const memory = exports["memshade.workingset"] as WebAssembly.Memory;
  const read = new WorkingSetReader(memory, info.toolLayouts?.workingset as WorkingSetLayout).read();
  expect(read.accesses).toBe(100);
  const fresh = read.records.map(({ counts }) => counts.lines?.[FRESH_BUCKET] ?? 0);
  expect(fresh.length).toBeGreaterThan(5);
  expect(fresh.reduce((sum, lines) => sum + lines, 0)).toBe(100);
});

describe("tail calls", () => {
  const ROUNDS = 1_000_000;
  /** Continues in another module through a table, and comes back through an import. */
  const first = wat(`(module (memory 1) ${BUMP} (type $t (func (param i32) (result i32)))
    (table (export "table") 2 funcref)
    (func $f (export "f") (type $t)
      (i32.store (i32.const 64) (local.get 0))
      (if (i32.eqz (local.get 0)) (then (return (call $malloc (i32.const 8)))))
      (return_call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1))))`);
  const second = wat(`(module (type $t (func (param i32) (result i32)))
    (import "first" "table" (table 2 funcref)) (import "first" "f" (func $f (type $t))) (memory 1)
    (func $malloc (export "malloc") (param i32) (result i32) (local.get 0))
    (func $free (export "free") (param i32))
    (func $g (type $t) (i32.store (i32.const 64) (local.get 0)) (return_call $f (local.get 0)))
    (elem (i32.const 1) $g))`);

  it.each(VARIANTS)("between modules grow no stack: $name", ({ options }) => {
    const { exports } = instantiate(first, options);
    instantiate(second, options, { first: exports });
    expect(exports.f(ROUNDS)).toBe(4096);
  });

  const leaving = wat(`(module (import "host" "out" (func $out)) (memory 1) ${BUMP} (type $t (func))
    (table (export "table") 2 funcref) (elem (i32.const 0) $inner)
    (func $inner (export "inner") ${ALLOCATE} (i32.store (i32.const 64) (i32.const 1)))
    (func $last (return_call $out))
    (func $f (export "f") (call $last) (call $inner))
    (func (export "leave") (return_call $out)))`);

  describe("by which some functions of a module leave", () => {
    const some =
      wat(`(module (import "host" "look" (func $look)) (memory (export "memory") 1) (type $t (func))
      (table (export "table") 2 funcref) (elem (i32.const 0) $look $store)
      (global $n (mut i32) (i32.const 0))
      (func $store
        (global.set $n (i32.add (global.get $n) (i32.const 1)))
        (i32.store (i32.const 64) (i32.add (i32.load (i32.const 128)) (global.get $n))))
      (func $back (export "back") (call $store))
      (func $leave (export "leave")
        (call $store) (drop (i32.load (i32.const 128))) (return_call_indirect (type $t) (i32.const 0)))
      (func (export "out") (call $store) (call_indirect (type $t) (i32.const 0)) (call $store))
      (func (export "left") (call $store) (call $leave) (call $store))
      (func (export "twice") (call $store) (call $store)))`);
    const dead = (look: (exports: Exports) => void, name: string) => {
      const wasted = new Wasted(
        some,
        { imports: (exports) => ({ host: { look: () => look(exports()) } }) },
        { contexts: false },
      );
      wasted.call(name);
      return wasted.contents().stores.reduce((sum, { overwritten }) => sum + overwritten, 0);
    };

    it("are followed as anywhere else in those that do not", () => {
      expect(dead(() => {}, "twice")).toBe(4);
      // The host reads memory before it enters the module again, and once more before it returns.
      expect(dead(({ back }) => back(), "out")).toBe(0);
    });

    it("are noticed behind the call of one that has", () => {
      // The bytes are overwritten only between the two calls.
      expect(dead(() => {}, "left")).toBe(4);
    });

    it("are told of before they lead out by reference", () => {
      const { exports, accesses } = instantiate(some, { tools: ["workingset"] }, { host: { look() {} } });
      for (let calls = 1; calls <= 3; calls++) {
        exports.leave();
        expect(accesses()).toBe(3 * calls);
      }
    });
  });

  it("out of a module leave the host where it was", () => {
    const imports = (exports: () => Exports) => ({ host: { out: () => exports().inner() } });
    const profiled = new Profiled(leaving, { imports });
    const wasted = [{}, { pairs: true }].map((waste) => new Wasted(leaving, { imports }, waste));
    for (const run of [profiled, ...wasted]) {
      for (const name of ["f", "leave", "f", "inner"]) run.call(name);
      (tableOf(run.exports).get(0) as () => void)();
      expect(run.stacks()).toEqual({ "inner < f": 4, inner: 3 });
    }
  });
});
