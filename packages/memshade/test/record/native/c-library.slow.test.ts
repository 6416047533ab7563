import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessesBySize } from "./support/accesses.ts";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";

/** Variants of the C library's functions: this processor's, without the longest vectors, with `rep`, with none of these. */
const CHOICES = [
  "",
  "glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-ERMS,-FSRM",
  "glibc.cpu.x86_rep_movsb_threshold=2048:glibc.cpu.x86_rep_stosb_threshold=2048",
  "glibc.cpu.hwcaps=-AVX2,-AVX512VL,-AVX512F,-ERMS,-FSRM,-AVX2_Usable",
];
/** Vectors overlap at the ends of a filled range, and a loop may begin and end with several. */
const ENDS = 80;

describe.skipIf(!canCompile)("what the C library accesses of blocks", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-c-library-"));
  const program = join(folder, "c-library");
  beforeAll(() => compileProgram("c-library.c", program, ["-fno-builtin"]));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(CHOICES)("is one access for each 8 bytes, whatever processor it works for: %s", (tunables) => {
    const out = join(folder, `run${CHOICES.indexOf(tunables)}`);
    const more = tunables === "" ? {} : { GLIBC_TUNABLES: tunables };
    const { stdout } = memshadeRun(folder, ["--quiet", "--tool", "heap", "--out", out, program], more);
    expect(stdout).toBe("0\n");
    const all = accessesBySize(out);
    // Sizes with bytes accessed: filled, copied from and compared; filled; copied to and compared.
    for (const [size, bytes] of [
      [100_001, 100_001 + 100_001 + 50_001],
      [4001, 4001],
      [100_003, 100_001 + 50_001],
    ]) {
      const accesses = all.get(size)!.accesses;
      expect(accesses).toBeGreaterThanOrEqual(Math.floor(bytes / 8));
      expect(accesses).toBeLessThanOrEqual(Math.ceil(bytes / 8) + ENDS);
    }
  });
});
