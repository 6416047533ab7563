import { describe, expect, it } from "vitest";
import { instrument } from "../../../../../src/record/tools/index.ts";
import { wasteFile } from "../../../../../src/record/tools/waste/read/waste-file.ts";
import { wat } from "../../../../support/assemble.ts";

const OPTIONS = {
  engine: "brief",
  contexts: false,
  objects: false,
  compat: "",
} as const;

/** Limits that the profile of a run names for these modules, given as name → text. */
function saidOf(modules: Record<string, string>): string[] {
  const built = Object.entries(modules).map(([name, text], index) => {
    const original = wat(`(module ${text})`);
    const { info } = instrument(original, { tools: ["waste"], name });
    return { index, info: { ...info, name }, original, contents: [] };
  });
  return wasteFile([], OPTIONS, built).notTracked;
}

describe("what a run with several modules does not see", () => {
  const shared = '(import "env" "memory" (memory 1)) (func (export "f") (drop (i32.load (i32.const 0))))';
  const malloc =
    '(func (export "malloc") (param i32) (result i32) (i32.const 8)) (func (export "free") (param i32))';

  it("is said once where it holds for all of them, else with the module's name", () => {
    const said = saidOf({ "main.wasm": `${shared} ${malloc}`, "side.wasm": shared });
    expect(said).toEqual([
      "The host may read any memory: bytes that are unread when it is called count as read by the host.",
      "The memory is imported: other modules that use it count as part of the host, and their stores are not counted.",
      "side.wasm: No allocator was found: freed memory counts as still in use.",
    ]);
  });

  it("is what other threads do, where they share the memory", () => {
    for (const memory of ['(import "env" "memory" (memory 1 1 shared))', '(memory (export "m") 1 1 shared)'])
      expect(saidOf({ "app.wasm": memory })).toContain(
        "The memory is shared: other threads and modules that use it count as part of the host, and their stores are not counted.",
      );
  });

  it("stands without a name in a run with one", () => {
    expect(saidOf({ "side.wasm": shared })[0]).toBe(
      "No allocator was found: freed memory counts as still in use.",
    );
  });
});
