import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readRun } from "../../../../src/profile/model/read-run.ts";
import type { Run } from "../../../../src/profile/model/run.ts";
import { MAIN } from "../../../command.ts";

export const canCompile =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0;
if (!canCompile)
  console.warn("SKIPPED: gcc for x86-64 Linux is not installed: no native program is recorded");

export function compileProgram(source: string, target: string, options: readonly string[] = []): void {
  const path = fileURLToPath(new URL(`../programs/${source}`, import.meta.url));
  const { status, stderr } = spawnSync("gcc", ["-g", "-O1", path, "-o", target, ...options], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
}

export function memshade(folder: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, ...more };
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8", env, cwd: folder });
}

export function memshadeRun(folder: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  return memshade(folder, ["run", ...args], more);
}

export function runIn(folder: string): Run {
  return readRun(readFileSync(join(folder, "run.json"), "utf8"));
}
