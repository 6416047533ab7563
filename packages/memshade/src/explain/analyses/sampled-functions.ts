import { NONE } from "../../profile/model/indices.ts";
import { framesOfSampleStack, type SampleProfile, sumByStack } from "../../profile/model/sample-profile.ts";

/** Samples of one function, in the unit of the chosen value column. */
export interface SampledFunction {
  readonly name: string;
  readonly module: string | undefined;
  readonly self: number;
  /** Sum of samples in the function or its callees; recursion counts once. */
  readonly total: number;
}

export interface SampledStack {
  readonly frames: readonly number[];
  readonly value: number;
}

/** Returns the functions of a profile, in descending order of their own samples. */
export function sampledFunctions(profile: SampleProfile, column: number): SampledFunction[] {
  const rows = new Map<string, { name: string; module: string | undefined; self: number; total: number }>();
  const rowOfFrame = profile.frames.map(({ function: name, module: index }) => {
    const module = index === undefined ? undefined : profile.modules[index]?.name;
    const key = `${module ?? ""} ${name}`;
    let row = rows.get(key);
    if (row === undefined) {
      row = { name, module, self: 0, total: 0 };
      rows.set(key, row);
    }
    return row;
  });
  for (const { stack, values } of sumByStack(profile)) {
    if (stack === NONE) continue;
    const value = values[column]!;
    rowOfFrame[profile.stackFrame[stack]!]!.self += value;
    const seen = new Set(framesOfSampleStack(profile, stack).map((frame) => rowOfFrame[frame]!));
    for (const row of seen) row.total += value;
  }
  return [...rows.values()].sort(
    (a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1),
  );
}

export function sampledStacks(profile: SampleProfile, column: number): SampledStack[] {
  return sumByStack(profile)
    .map(({ stack, values }) => ({ frames: framesOfSampleStack(profile, stack), value: values[column]! }))
    .sort((a, b) => b.value - a.value);
}
