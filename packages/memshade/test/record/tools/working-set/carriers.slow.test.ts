import { describe, expect, it } from "vitest";
import { decodeModule, functionType, I32, readNames } from "../../../../src/code/wasm/index.ts";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import type { InstrumentOptions } from "../../../../src/record/tools/options.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

const LOAD = "(drop (i32.load (i32.const 8)))";

const MODULE = wat(`(module
  (import "host" "look" (func $look))
  (memory 1)
  (table 1 funcref) (elem (i32.const 0) $referenced)
  (func $plain (param f64) (result i64) (local i32) ${LOAD} (i64.const 5))
  (func $bare ${LOAD})
  (func $quiet (param i32) (result i32) (local.get 0))
  (func $wide (param i32) (local f64) ${LOAD})
  (func $pair (result i32 i32) (i32.load (i32.const 8)) (i32.const 1))
  (func $referenced ${LOAD})
  (func $begin ${LOAD}) (start $begin)
  (func $exported (export "exported") ${LOAD})
  (func (export "all")
    (drop (call $plain (f64.const 1))) (call $bare) (drop (call $quiet (i32.const 1))) (call $wide (i32.const 1))
    (drop (drop (call $pair))) (call $referenced) (call $begin) (call $exported))
  (func $looks ${LOAD} (call $look) ${LOAD})
  (func (export "look") (call $looks))
  (func $zeros (param i32) (result i32) (local i32 i32 i64) ${LOAD} (i32.add (local.get 1) (local.get 2)))
  (func (export "sum") (result i32) (call $zeros (i32.const 3)))
  (func $ends ${LOAD} ${LOAD} ${LOAD} unreachable)
  (func (export "end") (call $ends)))`);

/** Indices of the functions that take one i32 more than the original and return one more. */
function carriersIn(options: InstrumentOptions): number[] {
  const before = decodeModule(MODULE);
  const after = decodeModule(instrument(MODULE, options).bytes);
  const names = readNames(after).functions;
  return before.bodies.flatMap((_, defined) => {
    const index = before.importedFunctionCount + defined;
    const was = functionType(before, index);
    // The host's entry is at the old index; the function itself, of the same name, is elsewhere.
    const all = [...names.keys()].filter((other) => names.get(other) === names.get(index));
    const is = [index, ...all]
      .map((each) => functionType(after, each))
      .find(({ params }) => params.length > was.params.length);
    if (is === undefined) return [];
    expect(is).toEqual({ ...was, params: [...was.params, I32], results: [...was.results, I32] });
    return [index];
  });
}

function start(look: (accesses: number) => void) {
  const { bytes, info } = instrument(MODULE, { tools: ["workingset"] });
  let accesses = (): number => 0;
  const host = { look: () => look(accesses()) };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), { host });
  const exports = instance.exports as Record<string, () => void>;
  const memory = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const reader = new WorkingSetReader(memory, info.toolLayouts?.workingset as WorkingSetLayout);
  accesses = () => reader.read().accesses;
  return { exports, accesses };
}

describe("functions that carry the countdown", () => {
  it("are those that direct calls and exports alone reach, where the parameter can take the place of a first local", () => {
    const [plain, bare, exported, looks, zeros, ends] = [1, 2, 8, 10, 12, 14];
    expect(carriersIn({ tools: ["workingset"] })).toEqual([plain, bare, exported, looks, zeros, ends]);
  });

  it("are none beside other tools, or where nothing is counted", () => {
    expect(carriersIn({ tools: ["workingset", "heap"] })).toEqual([]);
    expect(carriersIn({ tools: ["workingset", "waste"] })).toEqual([]);
    expect(carriersIn({ tools: ["workingset"], workingset: { unit: "wall" } })).toEqual([]);
    expect(carriersIn({ tools: ["workingset"], workingset: { attribution: { owners: true } } })).toEqual([]);
  });

  it("begin with zeros in all locals", () => {
    const { exports, accesses } = start(() => {});
    expect((exports.sum as () => unknown)()).toBe(0);
    expect(accesses()).toBe(2);
  });

  it("are none where some function may be too large to be rewritten", () => {
    const many = wat(
      `(module (memory 1) (func $f ${LOAD}) (func (export "g") (local ${"i32 ".repeat(45_000)}) (call $f)))`,
    );
    const { bytes } = instrument(many, { tools: ["workingset"] });
    expect(functionType(decodeModule(bytes), 0).results).toEqual([]);
  });

  it("are entered by the host in modules with tail calls too", () => {
    const module = wat(`(module (memory 1) (type $t (func)) (table 1 funcref) (elem (i32.const 0) $far)
      (func $far ${LOAD})
      (func $f (export "f") ${LOAD})
      (func (export "g") (call $f) (return_call_indirect (type $t) (i32.const 0))))`);
    const { bytes, info } = instrument(module, { tools: ["workingset"] });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
    const memory = exports["memshade.workingset"] as WebAssembly.Memory;
    const reader = new WorkingSetReader(memory, info.toolLayouts?.workingset as WorkingSetLayout);
    (exports.f as () => void)();
    expect(reader.read().accesses).toBe(1);
    (exports.g as () => void)();
    expect(reader.read().accesses).toBe(3);
  });

  it("take no more parameters than engines allow", () => {
    const most = `(func $f (param ${"i32 ".repeat(1000)}) (local i32) ${LOAD})`;
    const call = `(func (export "g") (call $f ${"(i32.const 1) ".repeat(1000)}))`;
    const { bytes } = instrument(wat(`(module (memory 1) ${most} ${call})`), { tools: ["workingset"] });
    expect(functionType(decodeModule(bytes), 0).params).toHaveLength(1000);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
    expect(exports.g).not.toThrow();
  });

  it("tell the host what they have counted when it gets control: in a call, behind one and where the program gives up", () => {
    const seen: number[] = [];
    const { exports, accesses } = start((sofar) => seen.push(sofar));
    exports.all();
    // Accesses of the start function and of eight functions, without the quiet one.
    expect(accesses()).toBe(8);
    exports.look();
    expect(seen).toEqual([9]);
    expect(accesses()).toBe(10);
    expect(exports.end).toThrow(WebAssembly.RuntimeError);
    expect(accesses()).toBe(13);
    exports.exported();
    expect(accesses()).toBe(14);
  });
});
