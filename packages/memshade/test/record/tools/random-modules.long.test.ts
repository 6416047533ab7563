import { expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import { expectTransparent, type Host } from "../../support/behaviour.ts";
import { parametersOf, randomCalls, randomModule } from "../../support/random-module.ts";
import { expectAgreement, expectSameBehaviour, expectSameResults } from "../../support/recorded.ts";
import { isThorough, SEARCH_TIMEOUT, trySeeds } from "../../support/seeds.ts";
import { heapVariants, some, TOOL_VARIANTS } from "../../support/tool-variants.ts";

const host = (): Host => {
  const logged: number[] = [];
  return {
    imports: {
      host: {
        log: (value: number) => {
          logged.push(value);
          if (value === 13) throw new Error("thirteen");
          return logged.length;
        },
      },
    },
    state: { logged },
  };
};

it.each([
  [40, "", false],
  [20, " with 64-bit memories", true],
])(
  "%d random modules%s do and count what they should, however they are instrumented",
  (count, kind, memory64) => {
    let thorough = 0;
    let trapped = 0;
    let accesses = 0;
    const { first, last } = trySeeds(count, (seed) => {
      const parameters = parametersOf(seed);
      const names = parameters.map((_, i) => `f${i}`);
      const calls = randomCalls(seed, names, (name) => parameters[Number(name.slice(1))]);
      const options = { host, allocator: "malloc=f0,free=f1" };
      const bytes = wat(randomModule(seed, memory64));
      if (!isThorough(seed)) {
        expectSameResults(bytes, calls, [...TOOL_VARIANTS, ...heapVariants(options.allocator)], host);
        return;
      }
      thorough++;
      const outcome = expectTransparent(bytes, calls, options);
      expectSameBehaviour(bytes, calls, some(heapVariants(options.allocator), seed), host);
      if (outcome.trapped) expectSameBehaviour(bytes, calls, some(TOOL_VARIANTS, seed), host);
      else expectAgreement(bytes, calls, some(TOOL_VARIANTS, seed), host);
      if (outcome.trapped) trapped++;
      else accesses += outcome.total;
    });
    const tried = last - first + 1;
    console.info(
      `seeds ${first} to ${last}${kind}: ${tried} modules; ${thorough} counted: ${trapped} trapped, ${accesses} accesses`,
    );
    // Modules that trap are compared, but not counted: most modules must not trap.
    if (thorough >= count) {
      expect(trapped).toBeLessThan(thorough / 2);
      expect(accesses / (thorough - trapped)).toBeGreaterThan(20);
    }
  },
  SEARCH_TIMEOUT,
);
