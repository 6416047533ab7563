import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openObject, PltStubs } from "../../../src/code/objects/index.ts";

const hasObjdump = spawnSync("objdump", ["--version"]).status === 0;
if (!hasObjdump) console.warn("SKIPPED: stubs as objdump names them: objdump is missing");
const libraries = ["/bin/bash", "/usr/bin/bash", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"].filter((path) =>
  existsSync(path),
);

describe.skipIf(!hasObjdump || process.arch !== "x64")("stubs for calls of other objects", () => {
  it.each(libraries)("have the names that objdump gives them: %s", (path) => {
    const sections = [".plt", ".plt.sec", ".plt.got"].flatMap((name) => ["-j", name]);
    const { stdout } = spawnSync("objdump", ["-d", ...sections, path], {
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    const named = [...stdout.matchAll(/^([0-9a-f]{16}) <([^*@]+)(?:@[^>]*)?@plt>:$/gm)];
    expect(named.length).toBeGreaterThan(10);
    const stubs = new PltStubs(openObject(readFileSync(path)));
    for (const [, start, target] of named) {
      const address = Number.parseInt(start, 16);
      expect(stubs.at(address)).toEqual({ target, address });
      expect(stubs.at(address + 7)).toEqual({ target, address });
    }
  });
});

const hasClang = ["clang-22", "ld.lld-22"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
if (!hasClang) console.warn("SKIPPED: stubs of lld: clang-22 or ld.lld-22 is missing");

/** A library with stubs for `alpha` and `beta`, and the start of its `.plt`. */
function linkStubs(target: string, options: readonly string[]): { stubs: PltStubs; start: number } {
  const folder = mkdtempSync(join(tmpdir(), "memshade-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [source, library] = [join(folder, "stubs.c"), join(folder, "stubs.so")];
  writeFileSync(source, "int alpha(int), beta(int); int both(int x) { return alpha(x) + beta(x); }");
  const usual = [`--target=${target}`, "-O1", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld-22"];
  expect(spawnSync("clang-22", [...usual, ...options, source, "-o", library]).status).toBe(0);
  const object = openObject(readFileSync(library));
  const { address } = object.sections.find(({ name }) => name === ".plt")!;
  return { stubs: new PltStubs(object), start: address };
}

describe.skipIf(!hasClang)("stubs of AArch64", () => {
  it.each([
    ["plain", [], 16],
    ["with landing pads", ["-mbranch-protection=standard", "-Wl,-z,force-bti"], 24],
  ])("are found, %s", (_, options, stubBytes) => {
    const { stubs, start } = linkStubs("aarch64-linux-gnu", options);
    // The table's first 32 bytes belong to the dynamic linker.
    expect(stubs.at(start + 8)).toBeUndefined();
    const first = start + 32;
    expect(stubs.at(first)).toEqual({ target: "alpha", address: first });
    expect(stubs.at(first + 12)).toEqual({ target: "alpha", address: first });
    expect(stubs.at(first + stubBytes)).toEqual({ target: "beta", address: first + stubBytes });
  });
});

describe.skipIf(!hasClang)("stubs that avoid indirect jumps", () => {
  it.each([
    ["bound when they are called", "-Wl,-z,retpolineplt", 48, 32],
    ["bound from the start", "-Wl,-z,retpolineplt,-z,now", 32, 16],
  ])("are found, %s", (_, option, headBytes, stubBytes) => {
    const { stubs, start } = linkStubs("x86_64-linux-gnu", [option]);
    for (let at = 0; at < headBytes; at++) expect(stubs.at(start + at)).toBeUndefined();
    for (const [index, target] of ["alpha", "beta"].entries()) {
      const address = start + headBytes + index * stubBytes;
      for (let at = 0; at < stubBytes; at++) expect(stubs.at(address + at)).toEqual({ target, address });
    }
  });
});
