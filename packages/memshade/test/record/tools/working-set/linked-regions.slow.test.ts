import { describe, expect, it } from "vitest";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

const MODULE = wat(`(module
  (import "GOT.mem" "__heap_base" (global $heap (mut i32)))
  (import "GOT.mem" "__stack_low" (global (mut i32)))
  (import "GOT.mem" "__stack_high" (global (mut i32)))
  (memory (export "memory") 1)
  (func (export "touch") (param $address i32) (i32.store8 (local.get $address) (i32.const 1))))`);

/** A program whose loader sets the addresses of its stack and heap after instantiation. */
function linked() {
  const { bytes, info } = instrument(MODULE, { tools: ["workingset"], workingset: { interval: 3 } });
  const newGlobal = () => new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  const offsets = { __heap_base: newGlobal(), __stack_low: newGlobal(), __stack_high: newGlobal() };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), {
    "GOT.mem": offsets,
  });
  const shadow = exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  return {
    offsets,
    touch: exports.touch as (address: number) => void,
    regions: () => {
      const sums = { stack: 0, static: 0, heap: 0 };
      for (const { counts } of new WorkingSetReader(shadow, layout).read().records)
        for (const region of ["stack", "static", "heap"] as const)
          sums[region] += Array.from(counts[region] ?? []).reduce((sum, lines) => sum + lines, 0);
      return sums;
    },
    notTracked: info.notTracked,
  };
}

describe("a program that dynamic libraries are linked to", () => {
  it("learns from its loader where its stack and its heap are", () => {
    const { offsets, touch, regions, notTracked } = linked();
    offsets.__stack_low.value = 1024;
    offsets.__stack_high.value = 2048;
    offsets.__heap_base.value = 2050;
    for (const address of [0, 1023, 1024, 2047, 2048, 2111, 2112, 65_535]) touch(address);
    expect(regions()).toEqual({ static: 3, stack: 2, heap: 2 });
    expect(notTracked).toEqual([]);
  });

  it("follows the heap's beginning when a library takes memory in front of it", () => {
    const { offsets, touch, regions } = linked();
    offsets.__heap_base.value = 4096;
    for (const address of [4096, 8192, 12_288, 12_288]) touch(address);
    offsets.__heap_base.value = 8192;
    for (const address of [4096, 8192]) touch(address);
    expect(regions()).toEqual({ static: 1, stack: 0, heap: 5 });
  });

  it("has static data alone until its loader has said more", () => {
    const { touch, regions } = linked();
    touch(60_000);
    expect(regions()).toEqual({ static: 1, stack: 0, heap: 0 });
  });
});
