import { describe, expect, it } from "vitest";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

const PAGE = 65_536;

/** A module with three pages, and the memory size that the tool has recorded after each call. */
function followed() {
  const module = wat(`(module (memory (export "memory") 3 9)
    (func (export "grow") (param $pages i32) (result i32) (memory.grow (local.get $pages)))
    (func (export "rest")))`);
  const { bytes, info } = instrument(module, { tools: ["workingset"] });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  return {
    memory: exports.memory as WebAssembly.Memory,
    call: (name: string, operand = 0): number => {
      (exports[name] as (operand: number) => number)(operand);
      return new WorkingSetReader(shadow, layout).read().memoryBytes;
    },
  };
}

describe("the size of the program's memory, in a run without a snapshot", () => {
  it("is what it began with", () => {
    expect(followed().call("rest")).toBe(3 * PAGE);
  });

  it("follows growth from inside, and growth that is refused", () => {
    const { call } = followed();
    expect(call("grow", 4)).toBe(7 * PAGE);
    expect(call("grow", 3)).toBe(7 * PAGE);
  });

  it("follows growth by the host at its next call", () => {
    const { memory, call } = followed();
    call("rest");
    memory.grow(2);
    expect(call("rest")).toBe(5 * PAGE);
  });

  it("follows growth inside of a call of the host, as Emscripten's JavaScript does it", () => {
    const module = wat(`(module (import "env" "resize" (func $resize)) (memory (export "memory") 1 40)
      (func (export "run") (call $resize) (i32.store (i32.const 1900000) (i32.const 1))))`);
    const { bytes, info } = instrument(module, { tools: ["workingset"] });
    let memory: WebAssembly.Memory | undefined;
    const imports = { env: { resize: () => memory?.grow(30) } };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), imports);
    memory = exports.memory as WebAssembly.Memory;
    (exports.run as () => void)();
    const layout = info.toolLayouts?.workingset as WorkingSetLayout;
    const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
    expect(new WorkingSetReader(shadow, layout).read().memoryBytes).toBe(31 * PAGE);
  });

  it("is never smaller than what was touched, whoever made the memory grow", () => {
    const module = wat(`(module (import "env" "memory" (memory 1 40)) (import "env" "table" (table 1 funcref))
      (type $void (func))
      (func (export "run") (call_indirect (type $void) (i32.const 0)) (i32.store (i32.const 1900000) (i32.const 1))))`);
    const other = wat(
      `(module (import "env" "memory" (memory 1)) (func (export "grow") (drop (memory.grow (i32.const 30)))))`,
    );
    const { bytes, info } = instrument(module, { tools: ["workingset"] });
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 40 });
    const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 });
    const env = { memory, table };
    table.set(
      0,
      new WebAssembly.Instance(new WebAssembly.Module(other as BufferSource), { env }).exports.grow,
    );
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), { env });
    (exports.run as () => void)();
    const layout = info.toolLayouts?.workingset as WorkingSetLayout;
    const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
    const { memoryBytes, records } = new WorkingSetReader(shadow, layout).read();
    expect(records).toHaveLength(1);
    expect(memoryBytes).toBeGreaterThanOrEqual(1_900_000);
  });
});
