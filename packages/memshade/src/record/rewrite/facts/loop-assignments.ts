import type { ValueNumbers } from "../walk/value-numbers.ts";
import type { ModuleScan } from "./module-scan.ts";

/** Clears the value numbers of all locals that a loop assigns. They may have any value at the loop header. */
export function forgetAssigned(scan: ModuleScan, loop: number, values: ValueNumbers): void {
  const { assigned, assignedFirst, assignedEnd } = scan;
  for (let i = assignedFirst[loop]; i < assignedEnd[loop]; i++) values.localValue[assigned[i]] = 0;
}
