import { bareName } from "../frames/function-names.ts";
import { addFindings, addUp } from "./add-findings.ts";
import type { Finding, FindingPlace } from "./finding.ts";

/** A finding is told if what goes with it is at least this part of all that the program has or does of that sort. */
export const LEAST_PART = 0.01;

/** The same for what every sound program has or does a little of, its libraries and compiler not least: there it takes more. */
const LEAST_COMMON_PART = 0.05;

const COMMON: ReadonlySet<Finding["kind"]> = new Set<Finding["kind"]>([
  ...(["dead", "clear", "silent", "redundant", "churn"] as const),
  ...(["unused", "never-read", "write-only", "cold"] as const),
  ...(["unread-field", "unread-objects"] as const),
]);

/** Of the blocks of one place only one of these is told: the first that holds is why those behind it hold too. */
const OF_BLOCKS: readonly Finding["kind"][] = [
  ...(["leak", "unused", "never-read", "write-only", "drag", "cold", "peak"] as const),
];

/** A first screen has room for so many. */
export const MOST_FINDINGS = 5;

/**
 * The findings of all tools that matter, the greatest part first; one of a sort and place, and as many as a first screen has room for.
 * What a line does in several places is its sum.
 */
export function rankFindings(all: readonly Finding[], most = MOST_FINDINGS): Finding[] {
  const ranked = ofLines(all)
    .filter(({ part, kind }) => part >= (COMMON.has(kind) ? LEAST_COMMON_PART : LEAST_PART))
    .sort((a, b) => b.part - a.part || b.amount - a.amount || (keyOf(a) < keyOf(b) ? -1 : 1));
  const told = new Map<string, Finding>();
  for (const finding of ranked)
    for (const key of keysOf(finding)) {
      const known = told.get(key);
      if (known === undefined || OF_BLOCKS.indexOf(finding.kind) < OF_BLOCKS.indexOf(known.kind))
        told.set(key, finding);
    }
  return ranked.filter((finding) => told.get(keyOf(finding)) === finding).slice(0, most);
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

/** Whether a kind says something of blocks as such, which a place has one of at most. */
export function isOfBlocks(kind: Finding["kind"]): boolean {
  return OF_BLOCKS.includes(kind);
}

/** The line of a place, or the function where no line is known. */
export function placeKey({ path }: FindingPlace): string {
  const { function: name = "", module = "", file, line = 0, address = 0 } = path[0]!;
  return JSON.stringify(
    line === 0 ? [bareName(name), module, name === "" ? address : 0] : [plainPath(file ?? ""), line],
  );
}

/** Without ways down and up again: `lib/compress/../common/mem.h` is one file, whichever folder names it. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/"))
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".") parts.push(part);
  return parts.join("/");
}
