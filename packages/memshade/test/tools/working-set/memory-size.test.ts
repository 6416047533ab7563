import { describe, expect, it } from "vitest";
import { instrument, type WorkingSetLayout } from "../../../src/tools/index.ts";
import { WorkingSetReader } from "../../../src/tools/working-set/read/read-tables.ts";
import { wat } from "../../support/assemble.ts";

const PAGE = 65_536;

/** A module with three pages, and what the tool says of its memory after each call. */
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
});
