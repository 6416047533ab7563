import type { ValueNumbers } from "../walk/value-numbers.ts";
import type { ModuleScan } from "./module-scan.ts";

/** Locals that are looked for one by one. */
const MOST_COMPARED = 256;

/** Whether a loop assigns the local; true too where there is too much to look through. */
export function mayAssign(scan: ModuleScan, loop: number, local: number): boolean {
  const { assigned, assignedFirst, assignedEnd } = scan;
  const end = assignedEnd[loop];
  if (end - assignedFirst[loop] > MOST_COMPARED) return true;
  for (let i = assignedFirst[loop]; i < end; i++) if (assigned[i] === local) return true;
  return false;
}

/** Takes the numbers of everything that a loop assigns away: at its header these locals may have any value. */
export function forgetAssigned(scan: ModuleScan, loop: number, values: ValueNumbers): void {
  const { assigned, assignedFirst, assignedEnd } = scan;
  for (let i = assignedFirst[loop]; i < assignedEnd[loop]; i++) values.localValue[assigned[i]] = 0;
}
