import v8 from "node:v8";
import { afterEach, describe, expect, it, vi } from "vitest";
import { withEngineFlags } from "../../../../src/record/host/module/engine-flags.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const needsFlag = Number.parseInt(process.versions.node, 10) <= 24;

it.runIf(needsFlag)("the engine's flag is set while a module is compiled, and not afterwards", () => {
  const flags: string[] = [];
  vi.spyOn(v8, "setFlagsFromString").mockImplementation((flag) => void flags.push(flag));
  expect(withEngineFlags(() => flags.length)).toBe(1);
  expect(() =>
    withEngineFlags(() => {
      throw new WebAssembly.CompileError("no module");
    }),
  ).toThrow("no module");
  const [on, off] = ["--experimental-wasm-branch-hinting", "--no-experimental-wasm-branch-hinting"];
  expect(flags).toEqual([on, off, on, off]);
});

it("a flag that the user has set stays set", () => {
  const setFlags = vi.spyOn(v8, "setFlagsFromString");
  vi.spyOn(process, "execArgv", "get").mockReturnValue(["--experimental_wasm_branch_hinting"]);
  expect(withEngineFlags(() => 7)).toBe(7);
  expect(setFlags).not.toHaveBeenCalled();
});

describe("functions of the engine's embedder that it calls in a fast way", () => {
  const NO_FAST_CALLS = "--no-turbo-fast-api-calls";

  /** Flags that are set while an engine of this version compiles. */
  function flagsOf(v8Version: string): string[] {
    const flags: string[] = [];
    vi.spyOn(v8, "setFlagsFromString").mockImplementation((flag) => void flags.push(flag));
    vi.spyOn(process, "versions", "get").mockReturnValue({ ...process.versions, v8: v8Version });
    withEngineFlags(() => undefined);
    return flags;
  }

  it("are called as others where it ends the process for them in modules of several memories", () => {
    expect(flagsOf("12.4.254.21-node.57")).toContain(NO_FAST_CALLS);
  });

  it("stay as they are elsewhere", () => {
    expect(flagsOf("13.6.233.17-node.63")).not.toContain(NO_FAST_CALLS);
    expect(flagsOf("14.6.202.34-node.40")).not.toContain(NO_FAST_CALLS);
  });
});
