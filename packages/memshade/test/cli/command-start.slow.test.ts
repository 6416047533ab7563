import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { npmModule } from "../symbolize/support.ts";
import { newFolder } from "./support/command-line.ts";

const inPackage = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const COMMAND = inPackage("bin/memshade.js");
const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const isBuilt = existsSync(inPackage("dist/main.js"));
if (!isBuilt) console.warn("SKIPPED: the command is not built");

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): string {
  const { stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH!, ...environment },
  });
  return stdout + stderr;
}

describe.skipIf(!isBuilt)("the command that is installed", () => {
  it.each(["--version", "-V"])("tells the package's version: %s", (option) => {
    expect(run([option])).toBe(`${JSON.parse(readFileSync(inPackage("package.json"), "utf8")).version}\n`);
  });

  it("gives the same answer with what Node kept of it, and where nothing can be kept", () => {
    const answer = "ts_range_edit\n/src/lib/src/./get_changed_ranges.c:125:67\n\n";
    const symbolize = (environment: Readonly<Record<string, string>>) =>
      run(["symbolize", "-e", MODULE, "0x1000"], environment);
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "kept") })).toBe(answer);
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "kept") })).toBe(answer);
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "file") })).toBe(answer);
    expect(symbolize({ NODE_DISABLE_COMPILE_CACHE: "1" })).toBe(answer);
  });
});
