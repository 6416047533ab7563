import v8 from "node:v8";
import { afterEach, expect, it, vi } from "vitest";
import { withBranchHints } from "../../../src/host/module/branch-hints.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const needsFlag = Number.parseInt(process.versions.node, 10) <= 24;

it.runIf(needsFlag)("the engine's flag is set while a module is compiled, and not afterwards", () => {
  const flags: string[] = [];
  vi.spyOn(v8, "setFlagsFromString").mockImplementation((flag) => void flags.push(flag));
  expect(withBranchHints(() => flags.length)).toBe(1);
  expect(() =>
    withBranchHints(() => {
      throw new WebAssembly.CompileError("no module");
    }),
  ).toThrow("no module");
  const [on, off] = ["--experimental-wasm-branch-hinting", "--no-experimental-wasm-branch-hinting"];
  expect(flags).toEqual([on, off, on, off]);
});

it("a flag that the user has set stays set", () => {
  const setFlags = vi.spyOn(v8, "setFlagsFromString");
  vi.spyOn(process, "execArgv", "get").mockReturnValue(["--experimental_wasm_branch_hinting"]);
  expect(withBranchHints(() => 7)).toBe(7);
  expect(setFlags).not.toHaveBeenCalled();
});
