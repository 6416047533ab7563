import { heapTotals } from "../analyses/totals.ts";
import type { HeapProfile } from "../model/heap-profile.ts";
import { groupDigits } from "./format.ts";

/** Sentences: all that a reader must know before trusting the numbers. */
export function gapsOf(profile: HeapProfile): string[] {
  const { allocations, inContexts } = heapTotals(profile);
  const gaps = [...profile.description.notTracked];
  if (inContexts.allocations < allocations) {
    gaps.push(
      `${groupDigits(allocations - inContexts.allocations)} of ${groupDigits(allocations)} allocations ` +
        "belong to no site below.",
    );
  } else if (inContexts.allocations > allocations) {
    gaps.push(
      `The sites below add up to ${groupDigits(inContexts.allocations - allocations)} allocations more than the ` +
        "run counted: a block that is live at a dump is in that dump and in the last one.",
    );
  }
  const sentences = new Set(gaps);
  // What several tools say of a module, one with its name and one without, is said once.
  const isRepeated = (gap: string) =>
    profile.modules.some(
      ({ name }) => gap.startsWith(`${name}: `) && sentences.has(gap.slice(name.length + 2)),
    );
  return [...sentences].filter((gap) => !isRepeated(gap));
}

/** What must be known of two profiles before they are compared; what is so for one of them alone says for which. */
export function gapsOfBoth(older: HeapProfile, newer: HeapProfile): string[] {
  const [old, now] = [gapsOf(older), gapsOf(newer)];
  return [
    ...old.map((gap) => (now.includes(gap) ? gap : `Old: ${gap}`)),
    ...now.filter((gap) => !old.includes(gap)).map((gap) => `New: ${gap}`),
  ];
}
