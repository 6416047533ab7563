import { describe, expect, it } from "vitest";
import { decodeModule, F64, I32, I64 } from "../../../../src/code/wasm/index.ts";
import { namesOfImports, touchesNoMemory } from "../../../../src/record/tools/waste/pass/sites.ts";
import { wat } from "../../../support/assemble.ts";
import { Wasted } from "../../../support/wasted.ts";

const type = (params: number[], results: number[] = []) => ({ params, results }) as never;

/** A program that stores to one address before and after a call of the import, and is called back through its table or an export. */
function stores(host: string, imports: WebAssembly.ModuleImports, fields = ""): Wasted {
  const module = wat(`(module
    ${host}
    (memory (export "memory") 1)
    (global $__stack_pointer (mut i32) (i32.const 4096))
    (table (export "table") 1 funcref)
    (elem (i32.const 0) $inner)
    (func $inner)
    (func (export "stackSave") (result i32) (global.get $__stack_pointer))
    (func (export "peek") (result i32) (i32.load (i32.const 512)))
    ${fields}
    (func $first (i32.store (i32.const 64) (i32.const 1)))
    (func $second (i32.store (i32.const 64) (i32.const 2)))
    (func (export "run") (call $first) (call $host (i32.const 0)) (call $second)))`);
  const wasted = new Wasted(module, { imports: () => ({ env: imports }) });
  wasted.call("run");
  return wasted;
}

function figuresOf(wasted: Wasted): { dead: number; handed: number } {
  const first = wasted.file().stores.find(({ ips }) => ips[0]?.function === "first");
  return { dead: first?.dead_overwritten ?? -1, handed: first?.host_assumed_read ?? -1 };
}

describe("an imported function that touches no memory", () => {
  it("is known by its name and its type together", () => {
    expect(touchesNoMemory("emscripten_get_now", type([], [F64]))).toBe(true);
    expect(touchesNoMemory("emscripten_resize_heap", type([I32], [I32]))).toBe(true);
    expect(touchesNoMemory("emscripten_resize_heap", type([I64], [I32]))).toBe(true);
    expect(touchesNoMemory("abort", type([]))).toBe(true);
    // AssemblyScript's abort reads a message from memory.
    expect(touchesNoMemory("abort", type([I32, I32, I32, I32]))).toBe(false);
    expect(touchesNoMemory("toString", type([]))).toBe(false);
    expect(touchesNoMemory("__assert_fail", type([I32, I32, I32, I32]))).toBe(false);
  });

  it("is one that Emscripten makes for calls that may throw, whose name spells its type", () => {
    expect(touchesNoMemory("invoke_vii", type([I32, I32, I32]))).toBe(true);
    expect(touchesNoMemory("invoke_di", type([I32, I32], [F64]))).toBe(true);
    expect(touchesNoMemory("invoke_vii", type([I32, I32]))).toBe(false);
    expect(touchesNoMemory("invoke_hook", type([I32]))).toBe(false);
  });

  it("is one of wasm-bindgen's that takes handles, and none that takes strings", () => {
    expect(touchesNoMemory("__wbindgen_object_drop_ref", type([I32]))).toBe(true);
    expect(touchesNoMemory("__wbindgen_is_undefined", type([I32], [I32]))).toBe(true);
    expect(touchesNoMemory("__wbindgen_string_new", type([I32, I32], [I32]))).toBe(false);
    expect(touchesNoMemory("__wbindgen_throw", type([I32, I32]))).toBe(false);
  });

  it("hands nothing to the host: what is overwritten behind its call is dead", () => {
    const drop = `(import "env" "__wbindgen_object_drop_ref" (func $host (param i32)))`;
    expect(figuresOf(stores(drop, { __wbindgen_object_drop_ref: () => {} }))).toEqual({ dead: 4, handed: 0 });
    const look = `(import "env" "look" (func $host (param i32)))`;
    expect(figuresOf(stores(look, { look: () => {} }))).toEqual({ dead: 0, handed: 4 });
  });

  it("may call the program back through its table, as invoke_v does, which first asks for the stack pointer", () => {
    let exports: Record<string, never> | undefined;
    const module = `(import "env" "invoke_v" (func $host (param i32)))`;
    const given = {
      invoke_v: (index: number) => {
        const { stackSave, table } = exports as unknown as { stackSave(): number; table: WebAssembly.Table };
        stackSave();
        (table.get(index) as () => void)();
      },
    };
    const bytes = wat(`(module ${module}
      (memory (export "memory") 1)
      (global $__stack_pointer (mut i32) (i32.const 4096))
      (table (export "table") 1 funcref) (elem (i32.const 0) $inner)
      (func $inner)
      (func (export "stackSave") (result i32) (global.get $__stack_pointer))
      (func $first (i32.store (i32.const 64) (i32.const 1)))
      (func $second (i32.store (i32.const 64) (i32.const 2)))
      (func (export "run") (call $first) (call $host (i32.const 0)) (call $second)))`);
    const wasted = new Wasted(bytes, { imports: () => ({ env: given }) });
    exports = wasted.exports as never;
    wasted.call("run");
    expect(figuresOf(wasted)).toEqual({ dead: 4, handed: 0 });
  });
});

describe("imports whose names were minified", () => {
  const module = decodeModule(
    wat(
      `(module (import "a" "a" (func (param i32))) (import "a" "b" (func)) (import "a" "memory" (memory 1)))`,
    ),
  );

  it("are told by the glue that lists all of them", () => {
    const glue = "var x={a:1};var wasmImports={a:invoke_v,b:__abort_js,c:_other};";
    expect(namesOfImports(module, glue)).toEqual(["invoke_v", "_abort_js"]);
  });

  it("stay as they are where the glue does not have them all", () => {
    expect(namesOfImports(module, "var y={a:invoke_v};")).toEqual(["a", "b"]);
    expect(namesOfImports(module)).toEqual(["a", "b"]);
  });
});
