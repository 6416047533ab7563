import { describe, expect, it } from "vitest";
import { compareScripts, type Plain, runPlain } from "./compare.ts";
import { EXPECTED_FAILURES } from "./expected-failures.ts";
import { readScripts, SUITE } from "./script.ts";
import { SETTINGS } from "./settings.ts";

/** Each script runs with every fourth setting by default; its neighbours run with other settings. */
const EVERYTHING = process.env.MEMSHADE_CORE_SUITE === "all";
const STEP = EVERYTHING ? 1 : 4;
const FORMS = EVERYTHING ? (["withAllocator", "bytes"] as const) : (["withAllocator"] as const);

/** Minimum numbers of assertions in half of the scripts, so that an empty test fails. */
const LEAST_RUN = 25_000;
const LEAST_COMPARED = EVERYTHING ? 25_000 : 2_000;

/**
 * Tests every second script from `first` on: the engine must treat the rewritten module like the plain one.
 * Results, traps, exceptions, link errors, and the final memories, tables and globals are compared.
 */
export function testHalf(first: 0 | 1): void {
  describe.skipIf(SUITE === undefined)(`the core test suite, half ${first + 1}`, () => {
    const scripts = SUITE === undefined ? [] : readScripts(SUITE).filter((_, i) => i % 2 === first);
    describe.each(FORMS)("modules in the form %s", (form) => {
      const all = runPlain(scripts, form);
      const failing = new Set(EXPECTED_FAILURES.map((place) => place.split(":")[0]));
      const [known, plain] = [true, false].map(
        (isKnown): Plain => new Map([...all].filter(([{ file }]) => failing.has(file) === isKnown)),
      );

      it("pass as they are, but for what the engine does not know", () => {
        const outcomes = [...all.values()].flat().filter(({ type }) => type.startsWith("assert_"));
        const ran = outcomes.filter((outcome) => outcome.ran);
        const failed = ran.filter(({ asserted }) => !asserted);
        const refused = outcomes.length - ran.length;
        console.info(`${ran.length} assertions ran, ${failed.length} of them failed; ${refused} skipped`);
        expect(ran.length).toBeGreaterThan(LEAST_RUN);
        // Failures are exception references, which JavaScript cannot see, and modules that fail to compile instead of to link.
        expect(failed.length).toBeLessThan(15);
        expect(refused).toBeLessThan(ran.length / 20);
      });

      it.each(Object.entries(SETTINGS).map(([name, options], i) => ({ name, options, i })))(
        "do the same with $name",
        ({ name, options, i }) => {
          const part = new Map([...plain].filter((_, script) => (script + i) % STEP === 0));
          const { compared, refused, differences } = compareScripts(part, options, form);
          console.info(
            `${name}: ${compared} assertions compared in ${part.size} scripts, ${refused} skipped`,
          );
          expect(differences).toEqual({});
          expect(compared).toBeGreaterThan(LEAST_COMPARED);
        },
      );

      it("fail only where they are expected to", () => {
        const found = new Set<string>();
        for (const [name, options] of Object.entries(SETTINGS)) {
          const { differences } = compareScripts(known, options, form);
          for (const [place, difference] of Object.entries(differences)) {
            expect(EXPECTED_FAILURES, `${name}: ${difference}`).toContain(place);
            found.add(place);
          }
        }
        const files = [...known.keys()].map(({ file }) => file);
        expect([...found].sort()).toEqual(
          EXPECTED_FAILURES.filter((place) => files.includes(place.split(":")[0])).sort(),
        );
      });
    });
  });
}
