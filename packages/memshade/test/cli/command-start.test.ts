import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CALL_CHAIN_SAMPLES, chainSample, drawPerfData, mmap2 } from "../formats/dumps/perf-data-pictures.ts";
import { npmModule } from "../symbolize/support.ts";
import { newFolder } from "./support/command-line.ts";

const COMMAND = fileURLToPath(new URL("../../bin/memshade.js", import.meta.url));
const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const isBuilt = existsSync(fileURLToPath(new URL("../../dist/bundle/quick-symbolize.cjs", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the command is not built");

type Variable = readonly [string, string];

function run(args: readonly string[], environment: readonly Variable[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH!, ...Object.fromEntries(environment) },
  });
  return stdout + stderr;
}

const symbolize = (...environment: readonly Variable[]) =>
  run(["symbolize", "-e", MODULE, "0x1000"], environment);

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

  it("keeps all functions of unwind, whatever it was asked first", () => {
    const folder = newFolder();
    const place = ["NODE_COMPILE_CACHE", folder] as const;
    const recording = join(folder, "perf.data");
    const records = [mmap2(1, 0x1000, "/bin/app"), chainSample(2, 0x1010, [])];
    writeFileSync(recording, drawPerfData(records, false, CALL_CHAIN_SAMPLES));
    expect(run(["unwind", join(folder, "nothing")], [place])).toContain("there is no such file");
    const [code] = globSync(`${folder}/*/memshade-*`);
    const kept = readFileSync(code);
    expect(run(["unwind", recording, "--addresses"], [place])).toBe("\n\t            2010\n\n");
    // What names functions is a file of its own, with classes of the first one.
    expect(run(["unwind", recording], [place])).toContain("0x2010 (app)");
    expect(readFileSync(code)).toEqual(kept);
    for (const content of ["", "no code"]) {
      writeFileSync(code, content);
      expect(run(["unwind", recording, "--addresses"], [place])).toBe("\n\t            2010\n\n");
      expect(run(["unwind", recording, "--addresses"], [place])).toBe("\n\t            2010\n\n");
      expect(readFileSync(code).length).toBeGreaterThan(kept.length / 2);
    }
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
