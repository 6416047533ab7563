import type { InstanceWorkingSet } from "../../model/working-set/working-set.ts";
import { type Phase, phasesOf } from "../phases/phases.ts";

/** Level-0 intervals in a row in which a program does one thing with about the same working set. */
export interface WorkingSetPhase extends Omit<Phase, "mean" | "peak"> {
  /** Mean and largest number of lines per interval. */
  meanLines: number;
  peakLines: number;
}

/** The phases of an instance by the lines of its intervals. */
export function findPhases({ levels, stackOf, stacks }: InstanceWorkingSet): WorkingSetPhase[] {
  const [{ start, end, counts }] = levels;
  return phasesOf({ start, end, sizes: counts.lines ?? [], stackOf, stacks }).map(
    ({ first, last, start: from, end: to, mean, peak, ...name }) => ({
      first,
      last,
      start: from,
      end: to,
      meanLines: mean,
      peakLines: peak,
      ...name,
    }),
  );
}
