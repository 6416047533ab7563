import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CpuSamples } from "../../../../src/profile/model/cpu.ts";
import { canCompile, compileProgram, memshadeRun } from "../support/record.ts";

const HZ = 97;
const WORK_SECONDS = 0.4;

describe.skipIf(!canCompile)("with --sample and --trace-children", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-sampled-children-"));
  const program = join(folder, "forked");
  beforeAll(() => compileProgram("forked.c", program));
  afterAll(() => rmSync(folder, { recursive: true }));

  const samplesIn = (run: string): CpuSamples =>
    JSON.parse(readFileSync(join(folder, run, "cpu.json"), "utf8"));
  const countOf = ({ samples }: CpuSamples): number => samples.periods.reduce((sum, one) => sum + one, 0);

  for (const [what, args] of [
    ["a process that was forked", []],
    ["a program that it runs then", ["run"]],
  ] as const)
    it(`${what} has its CPU time in the samples of its own run`, () => {
      const name = `of-${args.length}`;
      const ended = memshadeRun(folder, [
        "--quiet",
        "--sample",
        `${HZ}hz`,
        "--trace-children",
        "--out",
        join(folder, name),
        program,
        ...args,
      ]);
      expect(ended).toMatchObject({ status: 0, stderr: "" });
      const [child, ...others] = readdirSync(folder).filter((one) => one.startsWith(`${name}.`));
      expect(others).toEqual([]);
      const samples = samplesIn(child!);
      // On a busy machine some samples are lost; the next sample counts for them.
      expect(countOf(samples)).toBeGreaterThan(0.7 * HZ * WORK_SECONDS);
      expect(samples.endedEarly).toBe(0);
      expect(countOf(samplesIn(name))).toBeLessThan(0.3 * HZ * WORK_SECONDS);
    });
});
