import { describe, expect, it } from "vitest";
import { readScripts, SUITE } from "../../core-suite/script.ts";
import { RUNS_NATIVE } from "./native-host.ts";
import { runSuiteScript } from "./suite.ts";

/**
 * An out-of-bounds copy or fill in wasm traps before it writes. The machine code traps at the first byte out of bounds, and not at all for
 * a length of 0.
 */
const BULK_TRAPS = [
  "bulk:45",
  "bulk:46",
  "bulk:52",
  "bulk:108",
  "bulk:110",
  "memory_fill:118",
  ...Array.from({ length: 10 }, (_, i) => `memory_copy:${3211 + i}`),
  ...Array.from({ length: 10 }, (_, i) => `memory_copy64:${3211 + i}`),
  "memory_copy:4873",
  "memory_copy:4885",
  "memory_copy:4897",
];
/** Values that other modules of the script wrote into an imported memory. */
const SHARED_MEMORIES = [
  "linking:506",
  "linking:563",
  "linking:564",
  "linking:576",
  "linking:609",
  "linking3:82",
  ...Array.from({ length: 5 }, (_, i) => `load1:${25 + i}`),
];
const KNOWN = [...BULK_TRAPS, ...SHARED_MEMORIES].sort();

const scripts = SUITE === undefined || !RUNS_NATIVE ? [] : readScripts(SUITE);

describe.skipIf(scripts.length === 0)(
  "machine code passes the core test suite's assertions of integers and vectors",
  () => {
    it.each([
      { registers: 12, what: "with all registers", least: 13_000 },
      { registers: 0, what: "without registers", least: 2_000 },
      { registers: 3, what: "with 3 registers", least: 900 },
      { registers: 6, what: "with 6 registers", least: 9_000 },
    ])("$what", ({ registers, least }) => {
      // Each of the settings with few registers runs another third of the scripts.
      const part = scripts.filter((_, i) => registers === 12 || i % 3 === registers / 3);
      const different: string[] = [];
      let equal = 0;
      for (const script of part) {
        const result = runSuiteScript(script, { registers });
        equal += result.equal;
        different.push(...Object.keys(result.different));
      }
      const files = new Set(part.map(({ file }) => file));
      expect(different.sort()).toEqual(KNOWN.filter((place) => files.has(place.split(":")[0])));
      expect(equal).toBeGreaterThan(least);
    });
  },
);
