import type { LayoutAdvice } from "../../../explain/fleet/advice.ts";
import type { PartFrame } from "../../../explain/fleet/trend.ts";
import { formatBytes, plural } from "../../../profile/model/format.ts";
import { jsonText } from "../json/text.ts";
import type { Screen } from "../terminal/common/screen.ts";
import { printable, wrapWords } from "../terminal/common/text.ts";
import { placeInWords } from "./words.ts";

type NamedFrames = ReadonlyMap<bigint, PartFrame>;

/** What all runs of a project say. */
export interface ShownAdvice {
  readonly advice: readonly LayoutAdvice[];
  readonly frames: NamedFrames;
  readonly runs: number;
  readonly notes: readonly string[];
}

/** What saves less than these is in the JSON. */
const MOST_SHOWN = 10;

/** Advice as sentences, what saves most first. */
export function printAdvice(screen: Screen, { advice, frames, runs, notes }: ShownAdvice): void {
  if (advice.length === 0) screen.print(`Nothing is the same in all of ${plural(runs, "run")}.`);
  for (const one of advice.slice(0, MOST_SHOWN))
    screen.print(
      ...wrapWords(printable(adviceInWords(one, frames)), screen.width - 2).map((line, at) =>
        at === 0 ? line : `  ${line}`,
      ),
    );
  const left = advice.length - MOST_SHOWN;
  if (left > 0) screen.print(screen.paint.faint(`and ${left} more that save less: --json has all`));
  for (const note of notes) screen.print(...wrapWords(note, screen.width).map(screen.paint.faint));
}

/** A sentence: what is so in all runs, and what it would save. */
export function adviceInWords(advice: LayoutAdvice, frames: NamedFrames): string {
  const place = (site: bigint) => placeInWords([frames.get(site)!]);
  const saves = formatBytes(Math.round(advice.saves));
  if (advice.kind === "used-together") {
    const [a, b] = advice.sites;
    return `Blocks of ${place(a)} and of ${place(b)} are used in the same intervals (${Math.floor(advice.overlap * 100)} %) in all ${plural(advice.runs, "run")}: side by side they would take up to ${saves} less memory then${ofLargest(advice.savesOfLargest)}.`;
  }
  const { fields, element, type, site, runs } = advice;
  const names = fields
    .map(({ name, offset, size }) => name ?? `bytes ${offset} to ${offset + size - 1}`)
    .join(", ");
  const size = fields.reduce((sum, field) => sum + field.size, 0);
  return `${type ?? `Records of ${element} B`} of ${place(site)}: nobody reads ${names} (${size} of ${element} B) in any of ${plural(runs, "run")}: a type of their own, or none, would save ${saves}.`;
}

function ofLargest(bytes: number): string {
  const rounded = Math.round(bytes);
  return rounded === 0 ? "" : `, and the largest working set would be about ${formatBytes(rounded)} smaller`;
}

/** The same as JSON (docs/report-json.md). */
export function adviceJson({ advice, frames, runs, notes }: ShownAdvice): string {
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
        : { overlap: one.overlap, savesOfLargest: Math.round(one.savesOfLargest) }),
    })),
    notTracked: notes,
  });
}
