import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { readProfile } from "../../../../src/record/host/loader.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import { programBytes } from "../../../programs/fixtures.ts";

const NEVER = "The module has no free function: all blocks stay live.";

describe("a module without names whose program never frees", () => {
  const original = programBytes("allocation/never-freed.stripped");

  it("has its malloc found by its shape, as nothing else works on what that works on", () => {
    const plan = findAllocator(decodeModule(original));
    expect(plan).toMatchObject({ how: "structure", needsConfirmation: true });
    expect(plan.functions.map(({ role }) => role)).toEqual(["malloc"]);
    expect(plan.notes.join(" ")).toContain(NEVER);
  });

  it("has all of its blocks, which the run bears out", () => {
    const { bytes } = instrument(original, { maxBlocks: 2000, maxContexts: 100 });
    const module = new WebAssembly.Module(bytes as BufferSource);
    const instance = new WebAssembly.Instance(module, {});
    (instance.exports._initialize as () => void)();
    (instance.exports.run as () => number)();
    const { run } = readProfile(instance, module, { original });
    expect(run.modules[0].allocator).toMatchObject({ how: "structure", confirmed: true });
    expect(run.heap).toMatchObject({ allocations: 1000, frees: 0, liveBytes: 4_096_000 });
    expect(run.heap?.reach).toMatchObject({ stillReachableBlocks: 1000, lostBlocks: 0 });
  });

  it("is one with two functions where something else works on the same: that may free", () => {
    const plan = findAllocator(decodeModule(programBytes("allocation/lifecycle.stripped")));
    expect(plan.functions.map(({ role }) => role)).toEqual(expect.arrayContaining(["malloc", "free"]));
    expect(plan.notes.join(" ")).not.toContain(NEVER);
  });
});
