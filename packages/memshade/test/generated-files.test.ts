import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assemblyDigest, firstLine, staleFiles } from "../scripts/assembly-sources.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const GENERATED = join("src", "room", "code.generated.ts");

describe("files that are generated from sources", () => {
  let folder: string;
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const build = () => write(GENERATED, `${firstLine(assemblyDigest(folder))}\nexport const CODE = "";\n`);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "memshade-generated-"));
    write("scripts/build-shadow-runtime.ts", "");
    write("scripts/build-layouts.ts", "");
    write("src/code/wasm/opcodes.ts", "");
    write("src/room/assembly/code.ts", "export function one(): u32 { return 1; }");
    write("src/room/other.ts", "");
    build();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("belong to the sources that they were built from", () => {
    expect(staleFiles(folder)).toEqual([]);
    write("src/room/other.ts", "export {};");
    expect(staleFiles(folder)).toEqual([]);
  });

  it("are stale when a source has changed, has come or is gone, or the build has changed", () => {
    write("src/room/assembly/code.ts", "export function one(): u32 { return 2; }");
    expect(staleFiles(folder)).toEqual([GENERATED]);
    build();
    write("src/room/assembly/deep/more.ts", "");
    expect(staleFiles(folder)).toEqual([GENERATED]);
    build();
    rmSync(join(folder, "src/room/assembly/deep"), { recursive: true });
    expect(staleFiles(folder)).toEqual([GENERATED]);
    build();
    write("scripts/build-shadow-runtime.ts", "// smaller");
    expect(staleFiles(folder)).toEqual([GENERATED]);
  });

  it("are stale if they do not say what they were built from, or end in the middle of it", () => {
    write(GENERATED, 'export const CODE = "";\n');
    expect(staleFiles(folder)).toEqual([GENERATED]);
    write(GENERATED, firstLine(assemblyDigest(folder)).slice(0, -3));
    expect(staleFiles(folder)).toEqual([GENERATED]);
  });

  it("end the command in one line that says what to run", () => {
    for (const path of [
      "scripts",
      "package.json",
      "src/cli/main.ts",
      "src/cli/node-version.ts",
      // What the first statements of the command need: none of it is generated, nor imports what is.
      "src/record/host",
      "src/ground/bytes",
      "src/profile/model",
      "src/names/load",
    ])
      cpSync(join(PACKAGE, path), join(folder, path), { recursive: true });
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      ["--no-warnings", join(folder, "src/cli/main.ts"), "--version"],
      { encoding: "utf8" },
    );
    expect({ status, stderr, stdout }).toEqual({
      status: 2,
      stdout: "",
      stderr:
        "memshade: generated files are older than their sources; run: node packages/memshade/scripts/build-shadow-runtime.ts\n",
    });
  });
});
