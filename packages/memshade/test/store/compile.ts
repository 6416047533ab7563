import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";

const WASM = ["--target=wasm32-wasip1", "--sysroot=/", "-I/usr/include/wasm32-wasi"];
export const CAN_BUILD = {
  wasm:
    ["clang-22", "wasm-ld-22"].every((tool) => spawnSync(tool, ["--version"]).status === 0) &&
    existsSync("/usr/lib/wasm32-wasi/libc.a"),
  native:
    spawnSync("gcc", ["--version"]).status === 0 && process.platform === "linux" && process.arch === "x64",
};
function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  expect(status, `${command} ${args.join(" ")}\n${stderr}`).toBe(0);
  return stdout;
}

/**
 * Writes the source file and compiles it in its folder.
 * @returns the program
 */
export function compile(target: keyof typeof CAN_BUILD, source: string, file: string): string {
  const cwd = dirname(file);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(file, source);
  if (target === "native") {
    run("gcc", ["-O1", "-g", file, "-o", "app"], cwd);
    return join(cwd, "app");
  }
  run("clang-22", [...WASM, "-O1", "-g", "-c", file, "-o", "app.o"], cwd);
  const builtins = run("clang-22", ["--target=wasm32-wasip1", "-print-libgcc-file-name"], cwd).trim();
  const objects = ["-L/usr/lib/wasm32-wasi", "/usr/lib/wasm32-wasi/crt1-command.o", "app.o", "-lc"];
  run("wasm-ld-22", [...objects, ...(existsSync(builtins) ? [builtins] : []), "-o", "app.wasm"], cwd);
  return join(cwd, "app.wasm");
}
