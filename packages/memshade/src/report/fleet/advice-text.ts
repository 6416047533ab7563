import type { LayoutAdvice } from "../../analyses/fleet/advice.ts";
import type { PartFrame } from "../../analyses/fleet/trend.ts";
import { formatBytes, plural } from "../format.ts";
import { jsonText } from "../json/text.ts";
import type { Screen } from "../terminal/common/screen.ts";
import { printable, wrapWords } from "../terminal/common/text.ts";
import { placeInWords } from "./words.ts";

export type NamedFrames = ReadonlyMap<bigint, PartFrame>;

/** Advice as sentences, what saves most first. */
export function printAdvice(
  screen: Screen,
  advice: readonly LayoutAdvice[],
  frames: NamedFrames,
  runs: number,
): void {
  if (advice.length === 0) screen.print(`Nothing is the same in all of ${plural(runs, "run")}.`);
  for (const one of advice)
    screen.print(
      ...wrapWords(printable(adviceInWords(one, frames)), screen.width - 2).map((line, at) =>
        at === 0 ? line : `  ${line}`,
      ),
    );
}

/** A sentence: what is so in all runs, and what it would save. */
export function adviceInWords(advice: LayoutAdvice, frames: NamedFrames): string {
  const place = (site: bigint) => placeInWords([frames.get(site)!]);
  const saves = formatBytes(Math.round(advice.saves));
  if (advice.kind === "used-together") {
    const [a, b] = advice.sites;
    return `Blocks of ${place(a)} and of ${place(b)} are used in the same intervals (${Math.floor(advice.overlap * 100)} %) in all ${plural(advice.runs, "run")}: side by side they would take up to ${saves} less of the largest working set.`;
  }
  const { fields, element, type, site, runs } = advice;
  const names = fields
    .map(({ name, offset, size }) => name ?? `bytes ${offset} to ${offset + size - 1}`)
    .join(", ");
  const size = fields.reduce((sum, field) => sum + field.size, 0);
  return `${type ?? `Records of ${element} B`} of ${place(site)}: nobody reads ${names} (${size} of ${element} B) in any of ${plural(runs, "run")}: a type of their own, or none, would save ${saves}.`;
}

/** The same as JSON (docs/report-json.md). */
export function adviceJson(advice: readonly LayoutAdvice[], frames: NamedFrames, runs: number): string {
  return jsonText({
    schema: "memshade-advice",
    version: 1,
    runs,
    advice: advice.map((one) => ({
      kind: one.kind,
      saves: Math.round(one.saves),
      runs: one.runs,
      sentence: adviceInWords(one, frames),
      places: (one.kind === "cold-fields" ? [one.site] : one.sites).map((site) => {
        const { name, file, line } = frames.get(site)!;
        return { function: name, file: file ?? null, line: line === undefined || line === 0 ? null : line };
      }),
      ...(one.kind === "cold-fields"
        ? {
            type: one.type ?? null,
            element: one.element,
            fields: one.fields.map(({ name, ...field }) => ({ name: name ?? null, ...field })),
          }
        : { overlap: one.overlap }),
    })),
  });
}
