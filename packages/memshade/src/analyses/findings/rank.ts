import { bareName } from "../frames/function-names.ts";
import type { Finding, FindingKind } from "./finding.ts";

/** A finding is told if what goes with it is at least this part of all that the program has or does of that sort. */
export const LEAST_PART = 0.01;

/** A first screen has room for so many. */
const MOST_FINDINGS = 5;

/** What a finding of another kind at the same place says already: blocks that nobody wants are idle until they end. */
const IMPLIED: Readonly<Partial<Record<FindingKind, readonly FindingKind[]>>> = {
  drag: ["leak", "unused", "never-read"],
};

/** The findings of all tools that matter, the greatest part first; one of a kind and place, and as many as a first screen has room for. */
export function rankFindings(all: readonly Finding[], most = MOST_FINDINGS): Finding[] {
  const ranked = all
    .filter(({ part }) => part >= LEAST_PART)
    .sort((a, b) => b.part - a.part || b.amount - a.amount || (keyOf(a) < keyOf(b) ? -1 : 1));
  const told = new Set<string>();
  const found = new Set(ranked.map((finding) => keyOf(finding)));
  return ranked
    .filter((finding) => !IMPLIED[finding.kind]?.some((kind) => found.has(keyOf(finding, kind))))
    .filter((finding) => {
      const key = keyOf(finding);
      const isNew = !told.has(key);
      told.add(key);
      return isNew;
    })
    .slice(0, most);
}

/** What findings have in common that are one: kind and line, or the function where no line is known. */
function keyOf({ kind: own, place }: Finding, kind: FindingKind = own): string {
  const { function: name = "", module = "", file, line = 0, address = 0 } = place.path[0]!;
  const where =
    line === 0 ? [bareName(name), module, name === "" ? address : 0] : [plainPath(file ?? ""), line];
  return JSON.stringify([kind, ...where]);
}

/** Without ways down and up again: `lib/compress/../common/mem.h` is one file, whichever folder names it. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/"))
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".") parts.push(part);
  return parts.join("/");
}
