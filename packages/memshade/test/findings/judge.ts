import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Amount, Answer } from "./planted.ts";

export const PLANTED = new URL("../fixtures/planted/", import.meta.url);

/** Findings on a screen: the indented lines below "Summary". */
export function findingsOn(screen: string): string[] {
  const lines = screen.split("\n");
  const start = lines.findIndex((line) => /^Summary\b/.test(line));
  if (start < 0) return [];
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => !line.startsWith("  "));
  return rest.slice(0, end < 0 ? rest.length : end);
}

/** `cache.c:17`, the line marked `PLANTED` in the source; with several problems, the mark has the problem's word behind it. */
export function markedPlace(source: string, problem?: string): string {
  const mark = problem === undefined ? "PLANTED" : `PLANTED ${problem}`;
  const marked = readFileSync(new URL(source, PLANTED), "utf8")
    .split("\n")
    .flatMap((line, index) => (line.trimEnd().endsWith(mark) ? [index + 1] : []));
  if (marked.length !== 1) throw new Error(`${source} marks ${marked.length} lines`);
  return `${basename(source).replace(/\.as$/, ".ts")}:${marked[0]}`;
}

/** True if a finding has the kind, number and place of an answer. */
export function answers(finding: string, { kinds, amounts }: Answer, place: string): boolean {
  const [kind] = finding.trim().split(/\s/);
  const saysPlace = new RegExp(`(^|[/ (])${place.replaceAll(".", "\\.")}(?!\\d)`).test(finding);
  return kinds.includes(kind as string) && saysPlace && amounts.some((amount) => says(finding, amount));
}

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, K: 1e3, M: 1e6 };

/** True if a text contains a number, to the precision of its digits. */
export function says(text: string, { value, tolerance = 0, unit, isLeast = false }: Amount): boolean {
  return [...text.matchAll(/(?<![\w.,])(\d[\d,]*(?:\.(\d+))?)(?: (B|KiB|MiB|K|M)(?!\w))?/g)].some(
    ([, digits, decimals = "", suffix = ""]) => {
      if (unit === "bytes" && suffix.length === 0) return false;
      if (unit !== "bytes" && suffix.endsWith("B")) return false;
      const scale = UNITS[suffix] ?? 1;
      const told = Number((digits as string).replaceAll(",", "")) * scale;
      // Numbers with a suffix are printed with three digits.
      const rounding = suffix === "" || suffix === "B" ? 0 : (scale * 10 ** -decimals.length) / 2;
      if (isLeast) return told + rounding >= value;
      return Math.abs(told - value) <= value * tolerance + rounding;
    },
  );
}
