import type { FindingKind } from "./finding-kind.ts";
import { type Finding, KINDS, kindOf } from "./index.ts";
import { placeKey } from "./places.ts";

/** Whether two findings of one line say the same of different blocks or accesses, so that both go if the line is mended. What it asks
 * for itself is one thing, and what libraries ask for in its name is another.
 */
function addUp(a: Finding, b: Finding): boolean {
  if (isOfLibrary(a) !== isOfLibrary(b) || a.kind !== b.kind || a.tool !== b.tool) return false;
  const { apart } = kindOf(a);
  return a.unit === b.unit && (apart === undefined || factOf(a, apart) === factOf(b, apart));
}

/** A function of a library is on the way; what has no source may as well be a constructor of the program that the compiler wrote. */
function isOfLibrary({ place }: Finding): boolean {
  return place.via?.file !== undefined;
}

/** Two findings that add up, as one: what is no sum is that of the greater one, and so is the path. */
function addFindings(a: Finding, b: Finding): Finding {
  const [more, less] = a.part >= b.part ? [a, b] : [b, a];
  const sums = ["amount", ...(kindOf(a).sums ?? [])].flatMap((fact) => {
    const [one, other] = [factOf(more, fact), factOf(less, fact)] as (number | undefined)[];
    return one === undefined && other === undefined ? [] : [[fact, (one ?? 0) + (other ?? 0)] as const];
  });
  return { ...more, ...Object.fromEntries(sums), part: Math.min(1, more.part + less.part) } as Finding;
}

function factOf(finding: Finding, fact: string): unknown {
  return (finding as unknown as Readonly<Record<string, unknown>>)[fact];
}

/** A first screen has room for so many. */
export const MOST_FINDINGS = 5;

/**
 * The findings of all tools that matter, the greatest part first; one of a sort and place, and as many as a first screen has room for.
 * What a line does in several places is its sum.
 */
export function rankFindings(all: readonly Finding[], most = MOST_FINDINGS): Finding[] {
  const ranked = ofLines(all)
    .filter((finding) => finding.part >= kindOf(finding).leastPart)
    .sort((a, b) => b.part - a.part || b.amount - a.amount || (keyOf(a) < keyOf(b) ? -1 : 1));
  const told = new Map<string, Finding>();
  for (const finding of ranked)
    for (const key of keysOf(finding)) {
      const known = told.get(key);
      if (known === undefined || depthOf(kindOf(finding)) < depthOf(kindOf(known))) told.set(key, finding);
    }
  return ranked.filter((finding) => told.get(keyOf(finding)) === finding).slice(0, most);
}

/** How many kinds a kind comes after: of the blocks of a place, the first one is told. */
function depthOf({ ofBlocks }: FindingKind): number {
  const before = KINDS.find(({ kind }) => kind === ofBlocks?.after);
  return before === undefined ? 0 : 1 + depthOf(before);
}

/** Those of one line that add up, as one each. */
function ofLines(all: readonly Finding[]): Finding[] {
  const known = new Map<string, Finding[]>();
  for (const finding of all) {
    const key = `${finding.kind} ${placeKey(finding.place)}`;
    const ofLine = known.get(key) ?? [];
    const same = ofLine.findIndex((other) => addUp(other, finding));
    if (same < 0) ofLine.push(finding);
    else ofLine[same] = addFindings(ofLine[same]!, finding);
    known.set(key, ofLine);
  }
  return [...known.values()].flat();
}

/** What findings have in common that are one: sort and place. */
function keyOf({ kind, place }: Finding): string {
  return `${isOfBlocks(kind) ? "blocks" : kind} ${placeKey(place)}`;
}

/** Of blocks, the function that makes them for the place is a place of theirs too. */
function keysOf(finding: Finding): string[] {
  const { kind, place } = finding;
  const own = keyOf(finding);
  return place.via?.line === undefined || !isOfBlocks(kind)
    ? [own]
    : [own, keyOf({ ...finding, place: { path: [place.via] } })];
}

function isOfBlocks(kind: Finding["kind"]): boolean {
  return kindOf({ kind }).ofBlocks !== undefined;
}
