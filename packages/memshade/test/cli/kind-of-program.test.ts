import { describe, expect, it } from "vitest";
import { isNativeProgram } from "../../src/cli/kind-of-program.ts";

describe("what a name in PATH stands for", () => {
  it("is a native program, also with a version in its name", () => {
    for (const name of ["git", "lua5.4", "php8.2", "ld.lld-22"]) expect(isNativeProgram(name)).toBe(true);
  });

  it("is none that is called a module or a script, or is a path", () => {
    for (const name of ["shop.wasm", "serve.js", "serve.mts", "./lua5.4"])
      expect(isNativeProgram(name)).toBe(false);
  });
});
