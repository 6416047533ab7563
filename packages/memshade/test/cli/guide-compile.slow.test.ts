import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const SOURCE = fileURLToPath(new URL("../fixtures/programs/memprof/lists.cpp", import.meta.url));
const WASM = ["--target=wasm32-wasip1", "--sysroot=/", "-I/usr/include/wasm32-wasi", "-fno-exceptions"];
const COMMON = ["-O2", "-g", "-fdebug-info-for-profiling"];
/** LLVM's limits are minutes; blocks of this program live for milliseconds. */
const LIMITS = [
  "-mllvm",
  "-memprof-ave-lifetime-cold-threshold=0",
  "-mllvm",
  "-memprof-lifetime-access-density-cold-threshold=200",
];

const canBuild =
  spawnSync("clang++-22", ["--version"]).status === 0 &&
  spawnSync("wasm-ld-22", ["--version"]).status === 0 &&
  existsSync("/usr/lib/wasm32-wasi/libc++abi.a");
if (!canBuild)
  console.warn("SKIPPED: clang++-22 with WASI libraries is not installed, no compile is guided by a profile");

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
  return stdout;
}

describe.skipIf(!canBuild)("a profile of a WebAssembly run", () => {
  it("guides a compile of the module and of a native program", async () => {
    const folder = newFolder();
    const at = (name: string) => join(folder, name);
    run("clang++-22", [...WASM, ...COMMON, "-c", SOURCE, "-o", at("lists.o")]);
    const libraries = ["-L/usr/lib/wasm32-wasi", "/usr/lib/wasm32-wasi/crt1-command.o"];
    const builtins = run("clang++-22", ["--target=wasm32-wasi", "-print-libgcc-file-name"]).trim();
    const link = [...libraries, at("lists.o"), "-lc++", "-lc++abi", "-lc"];
    run("wasm-ld-22", [...link, ...(existsSync(builtins) ? [builtins] : []), "-o", at("lists.wasm")]);
    const ran = await memshade(["run", "--clock", "wall", "--out", at("run"), at("lists.wasm")], {
      cwd: folder,
    });
    expect(ran.code).toBe(0);
    const merged = await memshade(["merge", "-o", at("lists.memprofdata"), at("run")], { cwd: folder });
    expect(merged.code, merged.stderr).toBe(0);
    for (const target of [WASM, []]) {
      const use = [`-fmemory-profile-use=${at("lists.memprofdata")}`, ...LIMITS];
      run("clang++-22", [...target, ...COMMON, ...use, "-S", "-emit-llvm", SOURCE, "-o", at("lists.ll")]);
      const code = readFileSync(at("lists.ll"), "utf8");
      expect(code).toMatch(/call .*@_Znwm\(.*!memprof !\d+, !callsite !\d+/);
      expect(code).toContain('"memprof"="ambiguous"');
      expect(code).toMatch(/call .*@_ZL4makel\(.*!callsite !\d+/);
    }
  });
});
