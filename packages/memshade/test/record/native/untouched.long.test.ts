import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";

const WAYS = 13;
const MOST_KIB = 100 * 1024;

describe.skipIf(!canCompile)("large blocks of which next to nothing is touched", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-untouched-"));
  const program = join(folder, "untouched");
  beforeAll(() => compileProgram("untouched.c", program, ["-fno-builtin"]));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ["heap", []],
    ["waste", []],
    ["workingset", ["--who"]],
  ])("cost a program next to nothing under --tool %s, however they come and go", (tool, options) => {
    for (let way = 0; way < WAYS; way++) {
      const args = ["--quiet", "--out", "run", "--tool", tool, ...options, "--", program, String(way)];
      const { status, stdout } = memshadeRun(folder, args);
      rmSync(join(folder, "run"), { recursive: true, force: true });
      expect({ way, status, isSmall: Number(stdout) > 1000 && Number(stdout) < MOST_KIB, stdout }).toEqual({
        way,
        status: 0,
        isSmall: true,
        stdout,
      });
    }
  });
});
