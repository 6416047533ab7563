import type { Finding } from "./finding.ts";

/** What adds up where a line asks in several places; other numbers are means, and shares of the place's own. */
const SUMS = ["amount", "blocks", "allocated", "behind", "chains", "copies", "steps", "moves"] as const;

/** Whether two findings of one line say the same of different blocks or accesses, so that both go if the line is mended. */
export function addUp(a: Finding, b: Finding): boolean {
  return a.kind === b.kind && a.tool === b.tool && a.unit === b.unit && stateOf(a) === stateOf(b);
}

/** Two findings that add up, as one: what is no sum is that of the greater one, and so is the path. */
export function addFindings(a: Finding, b: Finding): Finding {
  const [more, less] = a.part >= b.part ? [a, b] : [b, a];
  const sums = SUMS.flatMap((field) => {
    const [one, other] = [numberOf(more, field), numberOf(less, field)];
    return one === undefined && other === undefined ? [] : [[field, (one ?? 0) + (other ?? 0)] as const];
  });
  return { ...more, ...Object.fromEntries(sums), part: Math.min(1, more.part + less.part) } as Finding;
}

function numberOf(finding: Finding, field: (typeof SUMS)[number]): number | undefined {
  return (finding as Partial<Record<typeof field, number>>)[field];
}

function stateOf(finding: Finding): string | undefined {
  return finding.kind === "leak" ? finding.state : undefined;
}
