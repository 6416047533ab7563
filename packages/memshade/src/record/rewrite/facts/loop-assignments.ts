import type { ValueNumbers } from "../walk/value-numbers.ts";
import type { ModuleScan } from "./module-scan.ts";

/** Takes the numbers of everything that a loop assigns away: at its header these locals may have any value. */
export function forgetAssigned(scan: ModuleScan, loop: number, values: ValueNumbers): void {
  const { assigned, assignedFirst, assignedEnd } = scan;
  for (let i = assignedFirst[loop]; i < assignedEnd[loop]; i++) values.localValue[assigned[i]] = 0;
}
