import type { InstanceWorkingSet } from "../../../profile/model/working-set/working-set.ts";
import { type Phase, phasesOf } from "../phases/phases.ts";

/** Level-0 intervals in a row in which a program does one thing with about the same working set. */
export interface WorkingSetPhase extends Omit<Phase, "mean" | "peak"> {
  /** Mean and largest number of lines per interval. */
  meanLines: number;
  peakLines: number;
}

/** The phases of an instance by the lines of its intervals. */
export function findPhases({ levels, stackOf, stacks }: InstanceWorkingSet): WorkingSetPhase[] {
  const [{ start, end, counts, lastIsPartial }] = levels;
  const phases = phasesOf({ start, end, sizes: counts.lines ?? [], stackOf, stacks }).map(
    ({ first, last, start: from, end: to, mean, peak, ...name }): WorkingSetPhase => ({
      first,
      last,
      start: from,
      end: to,
      meanLines: mean,
      peakLines: peak,
      ...name,
    }),
  );
  return lastIsPartial ? withoutRest(phases) : phases;
}

/** An interval that the end of the run cuts short has fewer lines for that alone: it belongs to what was before. */
function withoutRest(phases: WorkingSetPhase[]): WorkingSetPhase[] {
  const [before, rest] = phases.slice(-2);
  if (rest === undefined || rest.first < rest.last || rest.meanLines > before.meanLines) return phases;
  return [...phases.slice(0, -2), { ...before, last: rest.last, end: rest.end }];
}
