import type { FindingKind } from "./finding-kind.ts";
import { type Finding, KINDS, kindOf } from "./index.ts";
import { placeKey } from "./places.ts";

/**
 * True if two findings of one line report the same problem of different blocks or accesses, so that one fix
 * removes both. Requests of the line itself and requests by libraries on its behalf are separate.
 */
function addUp(a: Finding, b: Finding): boolean {
  if (isOfLibrary(a) !== isOfLibrary(b) || a.kind !== b.kind || a.tool !== b.tool) return false;
  const { apart } = kindOf(a);
  return a.unit === b.unit && (apart === undefined || factOf(a, apart) === factOf(b, apart));
}

/**
 * True if a library function is called in between. A function without source may be a constructor of the
 * program that the compiler generated.
 */
function isOfLibrary({ place }: Finding): boolean {
  return place.via?.file !== undefined;
}

/** Adds two findings. Facts that do not add up, and the path, are those of the larger one. */
function addFindings(a: Finding, b: Finding): Finding {
  const [more, less] = a.part >= b.part ? [a, b] : [b, a];
  const sums = ["amount", ...(kindOf(a).sums ?? [])].flatMap((fact) => {
    const [largerFact, smallerFact] = [factOf(more, fact), factOf(less, fact)] as (number | undefined)[];
    return largerFact === undefined && smallerFact === undefined
      ? []
      : [[fact, (largerFact ?? 0) + (smallerFact ?? 0)] as const];
  });
  return { ...more, ...Object.fromEntries(sums), part: Math.min(1, more.part + less.part) } as Finding;
}

function factOf(finding: Finding, fact: string): unknown {
  return (finding as unknown as Readonly<Record<string, unknown>>)[fact];
}

/** Number of findings that fit on the first screen. */
export const MOST_FINDINGS = 5;

/**
 * Ranks the findings of all tools, the largest part first: one per kind and location, at most as many as fit
 * on the first screen. Findings of one line are added up.
 */
export function rankFindings(findings: readonly Finding[], most = MOST_FINDINGS): Finding[] {
  const ranked = ofLines(findings)
    .filter((finding) => finding.part >= kindOf(finding).leastPart)
    .sort((a, b) => byRank(a, b) || b.amount - a.amount || (keyOf(a) < keyOf(b) ? -1 : 1));
  const reported = new Map<string, Finding>();
  for (const finding of ranked)
    for (const key of keysOf(finding)) {
      const earlier = reported.get(key);
      if (earlier === undefined || depthOf(kindOf(finding)) < depthOf(kindOf(earlier)))
        reported.set(key, finding);
    }
  return oncePerCause(ranked.filter((finding) => reported.get(keyOf(finding)) === finding)).slice(0, most);
}

/**
 * Joins findings with one cause: of one kind, in one function, for equally many blocks. A function that makes an object
 * and its parts is one finding. The first line stands for all: the object is made before its parts.
 */
function oncePerCause(ranked: readonly Finding[]): Finding[] {
  const joined: Finding[] = [];
  for (const finding of ranked) {
    const same = joined.findIndex((other) => hasSameCause(other, finding));
    if (same < 0) joined.push(finding);
    else joined[same] = joinFindings(joined[same]!, finding);
  }
  return joined.sort(byRank);
}

function byRank(a: Finding, b: Finding): number {
  const isLast = (finding: Finding): number => (kindOf(finding).isLast?.(finding) === true ? 1 : 0);
  return isLast(a) - isLast(b) || b.part - a.part;
}

function hasSameCause(a: Finding, b: Finding): boolean {
  const [first, second] = [a, b].map(({ place }) => place.path[0]!);
  const isOfOneFunction =
    first!.function !== undefined &&
    first!.line !== undefined &&
    first!.function === second!.function &&
    first!.file === second!.file &&
    first!.module === second!.module;
  return isOfOneFunction && addUp(a, b) && allocatedByLine(a) === allocatedByLine(b);
}

/** Returns the number of blocks that each line of a finding allocated; NaN for findings that are not about blocks. */
function allocatedByLine(finding: Finding): number {
  const lines = 1 + (finding.place.furtherLines?.length ?? 0);
  return Number(factOf(finding, "allocated")) / lines;
}

function joinFindings(a: Finding, b: Finding): Finding {
  const line = ({ place }: Finding): number => place.path[0]!.line ?? 0;
  const [first, second] = line(a) <= line(b) ? [a, b] : [b, a];
  const furtherLines = [first, second]
    .flatMap(({ place }) => [line({ place } as Finding), ...(place.furtherLines ?? [])])
    .filter((each) => each !== line(first));
  return { ...addFindings(a, b), place: { ...first.place, furtherLines } };
}

/** Returns the number of kinds that precede a kind; for the blocks of a site the first one is reported. */
function depthOf({ ofBlocks }: FindingKind): number {
  const before = KINDS.find(({ kind }) => kind === ofBlocks?.after);
  return before === undefined ? 0 : 1 + depthOf(before);
}

/** Adds up the findings of each line. */
function ofLines(findings: readonly Finding[]): Finding[] {
  const byLine = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.kind} ${placeKey(finding.place)}`;
    const ofLine = byLine.get(key) ?? [];
    const same = ofLine.findIndex((other) => addUp(other, finding));
    if (same < 0) ofLine.push(finding);
    else ofLine[same] = addFindings(ofLine[same]!, finding);
    byLine.set(key, ofLine);
  }
  return [...byLine.values()].flat();
}

/** Returns a key that is equal for findings of one kind and location. */
function keyOf({ kind, place }: Finding): string {
  return `${isOfBlocks(kind) ? "blocks" : kind} ${placeKey(place)}`;
}

/** Returns the keys of a finding. Findings on blocks have a second location: the library function that makes the blocks. */
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
