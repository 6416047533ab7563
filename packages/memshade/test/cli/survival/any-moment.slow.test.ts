import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startMemshade } from "../support/command-line.ts";
import { type Blow, strike, survivalPrograms } from "./strike.ts";

const signal = fc.record({
  name: fc.constantFrom("SIGINT" as const, "SIGTERM" as const, "SIGKILL" as const),
  gapMs: fc.constantFrom(0, 5, 100, 600),
});

const blow: fc.Arbitrary<Blow> = fc.record({
  program: fc.constantFrom("wasi", "wasi-busy", "node", "node-busy", "node-script"),
  moment: fc.constantFrom("start", "program", "writing"),
  delayMs: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 600 })),
  target: fc.constantFrom("memshade", "child", "all"),
  signals: fc.array(signal, { minLength: 1, maxLength: 2 }),
  hasEarlierRun: fc.boolean(),
});

/** Number of cases, some seconds each; `MEMSHADE_SURVIVAL` changes it. */
const CASES = Number(process.env.MEMSHADE_SURVIVAL ?? 6);

describe.runIf(process.platform === "linux")("a run that is struck at any moment", () => {
  it(
    "leaves a whole profile, or the earlier one, or says that there is none; and nothing else",
    async () => {
      const programs = survivalPrograms();
      await fc.assert(
        fc.asyncProperty(blow, async (how) => {
          expect(await strike(startMemshade, programs, how)).toEqual([]);
        }),
        { numRuns: CASES, endOnFailure: true },
      );
    },
    CASES * 60_000,
  );
});
