/** How long to search, where other cases are searched for than the ones that run every time. */
const MINUTES = Number(process.env.MEMSHADE_MINUTES ?? 0);

/** Whether every way of instrumenting is tried with every case, or other ones with each. */
export const IS_SEARCH = MINUTES > 0 || process.env.MEMSHADE_RUNS !== undefined;

/**
 * Whether a case is looked at from all sides, its counts and its profile too. All are, but most of a search are only asked
 * whether they behave as they do without tools, which is many times faster.
 */
export function isThorough(seed: number): boolean {
  return MINUTES === 0 || seed % 20 === 0;
}

/** Time that a test may take, ms. */
export const SEARCH_TIMEOUT = Math.max(300_000, MINUTES * 60_000 * 2);

/**
 * Tries `count` seeds, or MEMSHADE_RUNS of them, from MEMSHADE_SEED (1) on, or as many as come in MEMSHADE_MINUTES, and gives
 * the range that was tried. It goes on behind a seed that fails; in the end it throws what all of them failed with.
 */
export function trySeeds(count: number, check: (seed: number) => void): { first: number; last: number } {
  const first = Number(process.env.MEMSHADE_SEED ?? 1);
  const last = first + Number(process.env.MEMSHADE_RUNS ?? count) - 1;
  const end = performance.now() + MINUTES * 60_000;
  const findings: Error[] = [];
  let seed = first;
  for (; MINUTES > 0 ? performance.now() < end : seed <= last; seed++)
    try {
      check(seed);
    } catch (error) {
      const finding = new Error(`seed ${seed}: ${(error as Error).message.slice(0, 2000)}`, { cause: error });
      if (MINUTES > 0) console.error(finding.message);
      findings.push(finding);
    }
  if (findings.length === 1) throw findings[0];
  if (findings.length > 0)
    throw new AggregateError(findings, findings.map(({ message }) => message).join("\n"));
  return { first, last: seed - 1 };
}
