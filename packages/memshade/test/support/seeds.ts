/** Duration of a search for further cases, in minutes; 0: only the usual cases run. */
const MINUTES = Number(process.env.MEMSHADE_MINUTES ?? 0);

/** True if every variant is tried with every case; else each case has other variants. */
export const IS_SEARCH = MINUTES > 0 || process.env.MEMSHADE_RUNS !== undefined;

/**
 * True if counts and profile of a case are checked too. In a search, most cases are only checked for
 * unchanged behaviour, which is many times faster.
 */
export function isThorough(seed: number): boolean {
  return MINUTES === 0 || seed % 20 === 0;
}

export const SEARCH_TIMEOUT = Math.max(300_000, MINUTES * 60_000 * 2);

/**
 * Tries `count` seeds, or MEMSHADE_RUNS, from MEMSHADE_SEED (1) on, or as many as fit into MEMSHADE_MINUTES; returns
 * the range that was tried. A failing seed does not stop it; at the end it throws all failures together.
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
