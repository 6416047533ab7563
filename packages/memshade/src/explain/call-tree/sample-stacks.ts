import { NONE } from "../../profile/model/indices.ts";
import { type SampleProfile, sumByStack, type ValueType } from "../../profile/model/sample-profile.ts";
import type { StackFrame } from "../measures/measured-stacks.ts";
import { StackCollector, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

export function sampleStacks(profile: SampleProfile): WeightedStacks {
  const collector = new StackCollector();
  const frames = profile.frames.map(
    ({ function: name, file, line }): StackFrame => ({ function: name, file, line }),
  );
  // Callers precede callees.
  const stacks: number[] = [];
  for (const [row, caller] of profile.stackPrefix.entries())
    stacks.push(collector.stack(caller === NONE ? NONE : stacks[caller]!, frames[profile.stackFrame[row]!]!));
  for (const { stack, values } of sumByStack(profile))
    collector.add(stack === NONE ? NONE : stacks[stack]!, values);
  return collector.finish({
    tool: "samples",
    metrics: profile.valueTypes.map(metricOf),
    gaps: profile.notes,
  });
}

function metricOf({ type, unit }: ValueType): StackMetric {
  return { key: type, title: type, head: type.toUpperCase(), unit };
}
