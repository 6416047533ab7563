import { describe, expect, it } from "vitest";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

/** Layout of a linker that puts the stack first: the stack up to 1,024, data with initial values up to 1,280, then zeros. */
function program(pages: number, functions: string): Uint8Array {
  return wat(`(module
    (memory (export "memory") ${pages})
    (global $__stack_pointer (mut i32) (i32.const 1024))
    (data (i32.const 1024) "${"x".repeat(256)}")
    (func (export "touch") (param $address i32) (i32.store8 (local.get $address) (i32.const 1)))
    (func $frame (export "frame") (result i32)
      (global.set $__stack_pointer (i32.sub (global.get $__stack_pointer) (i32.const 16)))
      (global.set $__stack_pointer (i32.add (global.get $__stack_pointer) (i32.const 16)))
      (global.get $__stack_pointer))
    ${functions})`);
}

const SBRK = "(func $sbrk (result i32) (memory.grow (i32.const 1)))";

function touched(bytes: Uint8Array, addresses: readonly number[]) {
  const instrumented = instrument(bytes, { tools: ["workingset"], workingset: { interval: 3 } });
  const { exports } = new WebAssembly.Instance(
    new WebAssembly.Module(instrumented.bytes as BufferSource),
    {},
  );
  for (const address of addresses) (exports.touch as (address: number) => void)(address);
  const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = instrumented.info.toolLayouts?.workingset as WorkingSetLayout;
  const sums = { stack: 0, static: 0, heap: 0 };
  for (const { counts } of new WorkingSetReader(shadow, layout).read().records)
    for (const region of ["stack", "static", "heap"] as const)
      sums[region] += Array.from(counts[region] ?? []).reduce((sum, lines) => sum + lines, 0);
  return sums;
}

describe("zeroed static data behind a stack that comes first", () => {
  it("ends where the allocator's code says that the heap begins", () => {
    const allocator = `${SBRK} (func (export "malloc") (result i32) (i32.add (call $sbrk) (i32.const 70016)))`;
    expect(touched(program(2, allocator), [100, 1100, 5000, 70_000, 70_016, 131_000])).toEqual({
      stack: 1,
      static: 3,
      heap: 2,
    });
  });

  it("is all of it where nobody asks for more memory", () => {
    expect(touched(program(2, ""), [100, 1100, 5000, 131_000])).toEqual({ stack: 1, static: 3, heap: 0 });
  });

  it("is not told from the heap where the allocator names no address in the last page", () => {
    const allocator = `${SBRK} (func (export "malloc") (result i32) (i32.add (call $sbrk) (i32.const 70016)))`;
    expect(touched(program(5, allocator), [100, 1100, 5000])).toEqual({ stack: 1, static: 1, heap: 1 });
  });
});
