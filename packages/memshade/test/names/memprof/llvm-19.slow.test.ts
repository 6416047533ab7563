import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { joinPieces } from "../../../src/ground/bytes/file-piece.ts";
import { expandInputs } from "../../../src/names/memprof/inputs.ts";
import { mergeInputs } from "../../../src/names/memprof/merge-profiles.ts";
import { writeIndexed } from "../../../src/profile/formats/memprof-indexed/index.ts";
import { readRaw, writeRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { HOT_COLD_FIELDS } from "../../../src/profile/model/memprof/index.ts";
import { sharedPath } from "../../shared-path.ts";

const root = sharedPath("fixtures/memprof") ?? "";
const folder = mkdtempSync(join(tmpdir(), "memshade-llvm-19-"));
afterAll(() => rmSync(folder, { recursive: true }));

const canRun = ["llvm-profdata-19", "clang++-19", "clang++-22"].every(
  (tool) => spawnSync(tool, ["--version"]).status === 0,
);
if (!canRun) console.warn("SKIPPED: LLVM 19 is not installed, nothing is read with it");

function run(tool: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(tool, args, { encoding: "utf8", cwd: folder });
}

/** Writes the profile of the program `hint`, some of whose contexts are cold, to a file. */
async function coldProfile(version: 2 | 3, container: 8 | 9 | 10 | 11 | 12): Promise<string> {
  const places = { binaries: [join(root, "hint/v5.exe")], searchPaths: [] };
  const inputs = expandInputs([join(root, "hint/cold.memprofraw")]);
  const { profile } = (
    await mergeInputs(inputs, { places, fields: HOT_COLD_FIELDS, keepsSources: false })
  ).take();
  const file = join(folder, `cold.v${version}.c${container}`);
  const options = { version, container, schema: HOT_COLD_FIELDS, order: "stored" } as const;
  writeFileSync(file, joinPieces(writeIndexed(profile, options)));
  return file;
}

describe.skipIf(root === "" || !canRun)("LLVM 19", () => {
  const containers = [8, 9, 10, 11, 12] as const;
  it.each([2, 3] as const)(
    "compiles with indexed profiles of version %d as LLVM 22 does",
    async (version) => {
      for (const container of containers) {
        const profile = await coldProfile(version, container);
        expect(run("llvm-profdata-19", "merge", profile, "-o", "again")).toMatchObject({
          status: 0,
          stderr: "",
        });
        const hints = ["19", "22"].map((llvm) => {
          const output = `hint.${llvm}.ll`;
          const source = join(root, "hint/src/hint.cpp");
          const flags = ["-O2", "-g", "-fdebug-info-for-profiling", `-fmemory-profile-use=${profile}`];
          const done = run(`clang++-${llvm}`, ...flags, "-S", "-emit-llvm", source, "-o", output);
          expect(done).toMatchObject({ status: 0, stderr: "" });
          return readFileSync(join(folder, output), "utf8")
            .match(/"memprof"="\w+"|, !memprof/g)
            ?.sort();
        });
        expect(hints[0]).toContain('"memprof"="cold"');
        expect(hints[0]).toContain(", !memprof");
        // LLVM 22 has added an attribute besides the metadata.
        expect(hints[0]).toEqual(hints[1]!.filter((hint) => hint !== '"memprof"="ambiguous"'));
      }
    },
  );

  it.each([
    ["c-basic", 4],
    ["threads", 4],
    ["histogram", 4],
    ["threads", 3],
  ] as const)("reads raw profiles that are written: %s in version %d", (name, version) => {
    const original = join(root, name, "v4.memprofraw");
    const written = join(folder, `${name}.v${version}.memprofraw`);
    writeFileSync(written, writeRaw(readRaw(readFileSync(original)), version));
    const shown = [original, written].map((file) => {
      const { status, stdout, stderr } = run(
        "llvm-profdata-19",
        "show",
        "--memory",
        file,
        "--profiled-binary",
        join(root, name, "v4.exe"),
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      // Replaces varying values: a pointer of the profiled process, the version and the size of the file.
      return stdout.replace(/(AccessHistogram|Version|TotalSizeBytes|AccessHistogramValues): .*/g, "$1");
    });
    expect(shown[1]).toBe(shown[0]);
  });
});
