import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { WorkingSetLevel } from "../../../src/profile/model/working-set/working-set.ts";
import { WORKING_SET_FILE } from "../../../src/runs/working-set.ts";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";

const SOURCE = join(import.meta.dirname, "programs/passes.c");
/** Upper bound of the C library's accesses before the first pass. */
const MOST_BEFORE = 2000;

/** Lines that the passes write, in order. */
const WRITTEN = Array.from({ length: 59 }, (_, pass) => pass + 1).flatMap((pass) =>
  Array.from({ length: 100 * pass }, (_, i) => (i * (2 * pass + 1)) % 4096),
);

/**
 * True if each interval has the number of distinct lines that the source gives, with `before` accesses ahead of the program's first one.
 */
function fits({ start, end, counts }: WorkingSetLevel, before: number): boolean {
  // The C library works in the first intervals and in the last one.
  for (let i = 4; i < end.length - 2; i++)
    if (new Set(WRITTEN.slice(start[i] - before, end[i] - before)).size !== counts.heap![i]) return false;
  return true;
}

describe.skipIf(!canCompile)("intervals in accesses have the lines that the source tells", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-passes-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  const check = (program: string) => {
    const out = join(folder, "run");
    const how = ["--tool", "workingset", "--interval", "1000acc", "--max-intervals", "4096"];
    const { stdout } = memshadeRun(folder, ["--quiet", ...how, "--out", out, program]);
    expect(stdout).toBe("done\n");
    const [{ levels }] = WORKING_SET_FILE.load(out).instances;
    expect(levels[0].end.length).toBeGreaterThan(175);
    const befores = Array.from({ length: MOST_BEFORE }, (_, before) => before);
    expect(befores.filter((before) => fits(levels[0], before))).toHaveLength(1);
  };

  it("compiled to machine code", () => {
    const program = join(folder, "passes");
    compileProgram("passes.c", program, ["-O1"]);
    check(program);
  });

  it("compiled to WebAssembly", ({ skip }) => {
    const program = join(folder, "passes.wasm");
    const target = ["--target=wasm32-wasi", "-O1", "-mno-bulk-memory"];
    const { status } = spawnSync("clang-22", [...target, "-o", program, SOURCE]);
    if (status !== 0) {
      console.warn("SKIPPED: clang-22 with wasi-libc is not installed: nothing is compared with wasm");
      skip();
    }
    check(program);
  });
});
