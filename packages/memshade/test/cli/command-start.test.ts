import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { npmModule } from "../symbolize/support.ts";
import { newFolder } from "./support/command-line.ts";

const COMMAND = fileURLToPath(new URL("../../bin/memshade.js", import.meta.url));
const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const isBuilt = existsSync(fileURLToPath(new URL("../../dist/bundle/quick-symbolize.cjs", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the command is not built");

function symbolize(...environment: readonly (readonly [string, string])[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [COMMAND, "symbolize", "-e", MODULE, "0x1000"], {
    encoding: "utf8",
    env: { PATH: process.env.PATH!, ...Object.fromEntries(environment) },
  });
  return stdout + stderr;
}

describe.skipIf(!isBuilt)("the command that is installed", () => {
  const answer = "ts_range_edit\n/src/lib/src/./get_changed_ranges.c:125:67\n\n";

  it("keeps what the engine made of it, and uses it from then on", () => {
    const folder = newFolder();
    const place = ["NODE_COMPILE_CACHE", folder] as const;
    expect(symbolize(place)).toBe(answer);
    const [code] = globSync(`${folder}/*/memshade-*`);
    const kept = readFileSync(code);
    expect(kept.length).toBeGreaterThan(10_000);
    expect(symbolize(place)).toBe(answer);
    expect(readFileSync(code)).toEqual(kept);
    expect(globSync(`${folder}/*/memshade-*`)).toEqual([code]);
  });

  it("does without where it is damaged, not wanted, or cannot be kept", () => {
    const folder = newFolder();
    const place = ["NODE_COMPILE_CACHE", folder] as const;
    symbolize(place);
    const [code] = globSync(`${folder}/*/memshade-*`);
    for (const content of ["", "no code", readFileSync(code).fill(0, 0, 16)]) {
      writeFileSync(code, content);
      expect(symbolize(place)).toBe(answer);
    }
    expect(symbolize(place, ["NODE_DISABLE_COMPILE_CACHE", "1"])).toBe(answer);
    writeFileSync(join(folder, "file"), "");
    expect(symbolize(["NODE_COMPILE_CACHE", join(folder, "file")])).toBe(answer);
  });
});
