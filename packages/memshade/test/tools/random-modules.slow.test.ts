import { expect, it } from "vitest";
import { wat } from "../support/assemble.ts";
import { expectTransparent, type Host } from "../support/behaviour.ts";
import { parametersOf, randomCalls, randomModule } from "../support/random-module.ts";
import { expectAgreement, expectSameBehaviour } from "../support/recorded.ts";
import { heapVariants, some, TOOL_VARIANTS } from "../support/tool-variants.ts";

/** First seed and number of seeds, to try others than the ones that run every time. */
const FIRST = Number(process.env.MEMSHADE_SEED ?? 1);
const COUNT = Number(process.env.MEMSHADE_RUNS ?? 40);

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
  [COUNT, "", false],
  [COUNT >> 1, " with 64-bit memories", true],
])(
  "%d random modules%s do and count what they should, however they are instrumented",
  (count, _, memory64) => {
    let trapped = 0;
    let accesses = 0;
    for (let seed = FIRST; seed < FIRST + count; seed++) {
      const text = randomModule(seed, memory64);
      const parameters = parametersOf(seed);
      const names = parameters.map((_, i) => `f${i}`);
      const calls = randomCalls(seed, names, (name) => parameters[Number(name.slice(1))]);
      const options = { host, allocator: "malloc=f0,free=f1" };
      try {
        const bytes = wat(text);
        const outcome = expectTransparent(bytes, calls, options);
        expectSameBehaviour(bytes, calls, some(heapVariants(options.allocator), seed), host);
        if (outcome.trapped) expectSameBehaviour(bytes, calls, some(TOOL_VARIANTS, seed), host);
        else expectAgreement(bytes, calls, some(TOOL_VARIANTS, seed), host);
        if (outcome.trapped) trapped++;
        else accesses += outcome.total;
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message.slice(0, 2000)}\n${text}`, {
          cause: error,
        });
      }
    }
    // What traps is compared, but not counted: most must not.
    expect(trapped).toBeLessThan(count / 2);
    expect(accesses / (count - trapped)).toBeGreaterThan(20);
  },
);
