import { bareName } from "../analyses/frames/function-names.ts";
import type { Finding } from "../findings/index.ts";
import { functionName } from "./path-keys.ts";
import type { RenamedFunctions } from "./renamed-functions.ts";

/** Findings that only one of two runs has, and the number of common ones. */
export interface FindingDiff {
  readonly new: readonly Finding[];
  readonly gone: readonly Finding[];
  readonly kept: number;
  readonly renamed: RenamedFunctions;
}

/**
 * Returns the findings of most of some runs, each taken from the first run that has it. Repeated equal findings count
 * separately.
 */
export function commonFindings(runs: readonly (readonly Finding[])[]): readonly Finding[] {
  const found = new Map<string, { finding: Finding; runs: number }>();
  for (const findings of runs) {
    const seen = new Map<string, number>();
    for (const finding of findings) {
      const nth = (seen.get(keyOf(finding)) ?? 0) + 1;
      seen.set(keyOf(finding), nth);
      const existing = found.get(`${keyOf(finding)}\n${nth}`);
      if (existing === undefined) found.set(`${keyOf(finding)}\n${nth}`, { finding, runs: 1 });
      else existing.runs++;
    }
  }
  return [...found.values()].filter((entry) => 2 * entry.runs > runs.length).map(({ finding }) => finding);
}

/** Compares findings. Findings of the same kind and function are equal; repeated ones are paired one to one. */
export function diffFindings(
  older: readonly Finding[],
  newer: readonly Finding[],
  renamed: RenamedFunctions = new Map(),
): FindingDiff {
  const unmatched = new Map<string, Finding[]>();
  for (const finding of older) {
    const key = keyOf(finding, renamed);
    unmatched.set(key, [...(unmatched.get(key) ?? []), finding]);
  }
  const fresh = newer.filter((finding) => unmatched.get(keyOf(finding))?.shift() === undefined);
  const gone = new Set([...unmatched.values()].flat());
  return {
    new: fresh,
    gone: older.filter((finding) => gone.has(finding)),
    kept: newer.length - fresh.length,
    renamed,
  };
}

function keyOf({ kind, place }: Finding, renamed?: RenamedFunctions): string {
  const { function: written, module = "", address = 0 } = place.path[0]!;
  const name = written && (renamed?.get(functionName(written)) ?? written);
  return `${kind}\n${name === undefined ? address : bareName(name)}\n${module}`;
}
