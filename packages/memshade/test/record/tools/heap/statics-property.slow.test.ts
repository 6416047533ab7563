import { expect, it } from "vitest";
import type { StaticsReport } from "../../../../src/explain/analyses/statics.ts";
import { wat } from "../../../support/assemble.ts";
import type { GranuleCount } from "../../../support/counters.ts";
import { countNaively, naiveCounts } from "../../../support/naive-counters.ts";
import { Profiled } from "../../../support/profiled.ts";
import { Choices } from "../../../support/random-module.ts";
import { type RandomVariable, randomStatics } from "../../../support/random-statics.ts";
import { SEARCH_TIMEOUT, trySeeds } from "../../../support/seeds.ts";
import { reportOf } from "../../../support/statics.ts";

const GRANULE = 8;

function granulesOf({ address, bytes }: RandomVariable): number[] {
  const granules: number[] = [];
  for (let at = Math.floor(address / GRANULE) * GRANULE; at < address + bytes; at += GRANULE)
    granules.push(at);
  return granules;
}

it.each([
  ["merged", false],
  ["exact", true],
])(
  "variables have the accesses that a naive counter finds, and what is said to be unread is unread (%s)",
  (_, exactHistogram) => {
    let unread = 0;
    trySeeds(60, (seed) => {
      const { text, variables, functions } = randomStatics(seed);
      const bytes = wat(text);
      const naive = new WebAssembly.Instance(new WebAssembly.Module(countNaively(bytes) as BufferSource));
      const options = { allocator: "malloc=malloc,free=free", exactHistogram };
      const profiled = new Profiled(bytes, { options });
      const choices = new Choices(seed + 1_000_000);
      for (let call = 0; call < 6; call++) {
        const [name, argument] = [`f${choices.below(functions)}`, choices.below(5000)];
        (naive.exports[name] as (value: number) => void)(argument);
        profiled.call(name, argument);
      }
      const counts = naiveCounts(naive);
      const report = reportOf(profiled, variables);
      // The sum is complete: bytes between variables have no owner, and no access hits them.
      const all = Object.values(counts).reduce((sum, { count }) => sum + count, 0);
      expect(report.accesses).toBe(all);
      expect(report.elsewhere).toBe(0);
      expect(profiled.heap).toMatchObject({ heapAccesses: 0, otherAccesses: all, staticAccesses: all });
      unread += compare(report, variables, counts, exactHistogram);
    });
    expect(unread).toBeGreaterThan(0);
  },
  SEARCH_TIMEOUT,
);

/** Compares each variable; returns the bytes correctly reported as unread. */
function compare(
  report: StaticsReport,
  variables: readonly RandomVariable[],
  counts: Readonly<Record<number, GranuleCount>>,
  isExact: boolean,
): number {
  const owners = new Map<number, number>();
  for (const variable of variables)
    for (const granule of granulesOf(variable)) owners.set(granule, (owners.get(granule) ?? 0) + 1);
  let unread = 0;
  for (const variable of variables) {
    const granules = granulesOf(variable);
    const own = granules.filter((granule) => owners.get(granule) === 1 || counts[granule] === undefined);
    const found = report.objects.find(({ name }) => name === variable.name);
    // Only a variable without a granule of its own is missing from the report.
    if (found === undefined) {
      expect(own).toEqual([]);
      continue;
    }
    const accesses = own.reduce((sum, granule) => sum + (counts[granule]?.count ?? 0), 0);
    expect(found.accesses, variable.name).toBe(accesses);
    const bytesWhere = (is: (count: GranuleCount | undefined) => boolean): number =>
      granules
        .filter((granule) => is(counts[granule]))
        .reduce(
          (sum, granule) =>
            sum +
            Math.min(granule + GRANULE, variable.address + variable.bytes) -
            Math.max(granule, variable.address),
          0,
        );
    const untouched = bytesWhere((count) => count === undefined);
    const notRead = bytesWhere((count) => count === undefined || !count.reads);
    if (isExact) expect(found.untouchedBytes, variable.name).toBe(untouched);
    expect(found.untouchedBytes, variable.name).toBeLessThanOrEqual(untouched);
    expect(found.untouchedBytes + found.unreadBytes, variable.name).toBeLessThanOrEqual(notRead);
    const isShared = own.length < granules.length;
    if (!isShared) expect(found.use === "untouched", variable.name).toBe(accesses === 0);
    unread += found.untouchedBytes + found.unreadBytes;
  }
  return unread;
}
