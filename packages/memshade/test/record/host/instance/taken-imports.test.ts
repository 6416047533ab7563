import vm from "node:vm";
import { describe, expect, it } from "vitest";
import { hookWebAssembly } from "../../../../src/record/host/instance/hook-webassembly.ts";
import { instrument, type ToolName } from "../../../../src/record/tools/index.ts";
import { assemble } from "../../../cli/support/programs.ts";

/** A separate WebAssembly namespace that instruments every module. */
function instrumenting(tools: ToolName[]): typeof WebAssembly {
  const wasm = vm.runInNewContext("WebAssembly") as typeof WebAssembly;
  hookWebAssembly(wasm, {
    rewrite(original) {
      const { bytes, info } = instrument(original, { tools, name: "program" });
      return { bytes, tracked: { info, key: "k", path: null, original } };
    },
    rejected() {},
    rewriteFor: () => undefined,
    instantiated() {},
    recognize: () => undefined,
    sharedShadow: () => undefined,
  });
  return wasm;
}

const IMPORTING = assemble(`(module
  (import "env" "memory" (memory 1 2))
  (import "env" "tick" (func $tick))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (func (export "f") (drop (call $random (i32.const 0) (i32.const 8))) (call $tick) (drop (i32.load (i32.const 0)))))`);

/** Import objects that create a value on each access and store none. */
function maker(asked: string[]): WebAssembly.Imports {
  const values: Record<string, () => unknown> = {
    memory: () => new WebAssembly.Memory({ initial: 1, maximum: 2 }),
    tick: () => () => {},
    random_get: () => () => 0,
  };
  const fields = (module: string) =>
    new Proxy(
      {},
      {
        get(_, name) {
          asked.push(`${module}.${String(name)}`);
          return values[String(name)]?.();
        },
      },
    );
  return new Proxy({}, { get: (_, module) => fields(String(module)) });
}

describe("imports that are made while they are asked for", () => {
  for (const tools of [["heap"], ["waste"], ["workingset"], ["heap", "waste", "workingset"]] as ToolName[][])
    it(`are asked for once, and nothing else is, with ${tools.join(" and ")}`, async () => {
      const asked: string[] = [];
      const wasm = instrumenting(tools);
      const instance = new wasm.Instance(new wasm.Module(IMPORTING as BufferSource), maker(asked));
      (instance.exports.f as () => void)();
      await wasm.instantiate(IMPORTING as BufferSource, maker(asked));
      const once = ["env.memory", "env.tick", "wasi_snapshot_preview1.random_get"];
      expect(asked).toEqual([...once, ...once]);
    });

  it("are refused in the engine's words if they are none", () => {
    const wasm = instrumenting(["waste"]);
    const module = new wasm.Module(IMPORTING as BufferSource);
    const refused = (imports: unknown) => () => new wasm.Instance(module, imports as WebAssembly.Imports);
    expect(refused(undefined)).toThrow("Imports argument must be present");
    expect(refused({ env: 3 })).toThrow('Import #0 "env": module is not an object or function');
  });
});

describe("a module that is instantiated without imports", () => {
  it("does not get more memory than the waste tool follows", () => {
    const bytes = assemble(
      '(module (memory (export "memory") 1) (func (export "f") (drop (i32.load (i32.const 0)))))',
    );
    const wasm = instrumenting(["waste"]);
    const { memory } = new wasm.Instance(new wasm.Module(bytes as BufferSource)).exports;
    expect(() => (memory as WebAssembly.Memory).grow(20_000)).toThrow("Maximum memory size exceeded");
  });
});
