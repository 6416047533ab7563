import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { countedLines, countedWaste, ENGINES, expectedLines, expectedWaste, moduleOf } from "./agreement.ts";
import { programs, trappingPrograms } from "./random-program.ts";

const RUNS = Number(process.env.MEMSHADE_RUNS ?? 12);

describe("programs of all kinds of accesses", () => {
  it("waste what the definitions say, whoever counts", () => {
    fc.assert(
      fc.property(programs(), (program) => {
        const module = moduleOf(program);
        for (const [engine, waste] of Object.entries<WasteOptions>(ENGINES))
          expect(countedWaste(module, waste, false).told, engine).toEqual(expectedWaste(program, waste).told);
      }),
      { numRuns: RUNS },
    );
  });

  it("that trap waste what they did until then, or the report says what is missing", () => {
    fc.assert(
      fc.property(trappingPrograms(), (program) => {
        const module = moduleOf(program);
        for (const [engine, waste] of Object.entries<WasteOptions>(ENGINES)) {
          const { told: expected, trapped } = expectedWaste(program, waste);
          const { told, isCutShort, incomplete } = countedWaste(module, waste, trapped !== undefined);
          if (waste.pairs === true || trapped === undefined) {
            expect(told, engine).toEqual(expected);
            continue;
          }
          // A block counts its accesses at its beginning, so after a trap it has counted too many; a loop counts at its end, so its
          // accesses are missing.
          const excused = new Set(
            [...trapped.behind, ...incomplete].flatMap((site) => [`store ${site}`, `load ${site}`]),
          );
          for (const name of new Set([...Object.keys(told), ...Object.keys(expected)])) {
            if (excused.has(name)) continue;
            if (!isCutShort) expect(told[name], `${engine}: ${name}`).toBe(expected[name]);
            // The number of runs is right whatever became of the bytes; sites of unfinished loops are not in the file.
            else if (told[name] !== undefined)
              expect(firstTwo(told[name]), `${engine}: ${name}`).toBe(firstTwo(expected[name]));
          }
        }
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

function firstTwo(counts: string | undefined): string | undefined {
  return counts?.split(", ").slice(0, 2).join(", ");
}
