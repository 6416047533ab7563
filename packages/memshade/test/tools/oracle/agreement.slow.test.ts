import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedLines, countedWaste, ENGINES, expectedLines, expectedWaste, moduleOf } from "./agreement.ts";
import { programs } from "./random-program.ts";

const RUNS = Number(process.env.MEMSHADE_RUNS ?? 40);

describe("programs of all kinds of accesses", () => {
  for (const traps of [false, true])
    it(`${traps ? "that trap " : ""}waste what the definitions say, whoever counts`, () => {
      fc.assert(
        fc.property(programs(traps), (program) => {
          const module = moduleOf(program);
          for (const [engine, waste] of Object.entries(ENGINES))
            expect(countedWaste(module, waste, traps), engine).toEqual(expectedWaste(program, waste));
        }),
        { numRuns: RUNS },
      );
    });

  it("touch the lines that the definitions say", () => {
    fc.assert(
      fc.property(programs(), (program) => {
        expect(countedLines(moduleOf(program), false)).toEqual(expectedLines(program));
      }),
      { numRuns: RUNS },
    );
  });
});
