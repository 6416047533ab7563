import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { hasNativeStacks, isNativeProgram } from "../../src/cli/kind-of-program.ts";
import { descriptorsOf } from "../support/open-files.ts";
import { newFolder } from "./support/command-line.ts";

describe("what a name in PATH stands for", () => {
  it("is a native program, also with a version in its name", () => {
    for (const name of ["git", "lua5.4", "php8.2", "ld.lld-22"]) expect(isNativeProgram(name)).toBe(true);
  });

  it("is none that is called a module or a script, or is a path", () => {
    for (const name of ["shop.wasm", "serve.js", "serve.mts", "./lua5.4"])
      expect(isNativeProgram(name)).toBe(false);
  });
});

describe("a packed file", () => {
  it("tells by its first bytes whether it holds stacks, whatever becomes of the others", () => {
    const file = join(newFolder(), "core.zst");
    writeFileSync(file, zstdCompressSync(Buffer.concat([Buffer.from("MDMP"), Buffer.alloc(2 ** 28)])));
    expect(hasNativeStacks(file)).toBe(true);
    writeFileSync(file, zstdCompressSync(Buffer.alloc(2 ** 28)));
    expect(hasNativeStacks(file)).toBe(false);
  });
});

// The memory file of a process can be opened, but not read at address 0.
describe.runIf(process.platform === "linux")("a file that cannot be read", () => {
  it("holds no stacks, and does not stay open", () => {
    expect(hasNativeStacks("/proc/self/mem")).toBe(false);
    expect(descriptorsOf(`/proc/${process.pid}/mem`)).toEqual([]);
  });
});
