import { ownDepth } from "../../explain/analyses/frames/own-place.ts";
import { bareName, shortPlace } from "../../explain/analyses/frames/place-names.ts";
import type { LayoutAdvice } from "../../explain/fleet/advice.ts";
import type { FleetMeasure } from "../../explain/fleet/measures.ts";
import {
  dayOf,
  meanOf,
  type PartChange,
  type PartFrame,
  type Trend,
  type TrendStep,
  varianceOf,
} from "../../explain/fleet/trend.ts";
import { formatBytes, formatCount, plural } from "../../profile/model/format.ts";
import { printableHtml } from "../../profile/model/printable.ts";
import { jsonText } from "./json/text.ts";
import type { Screen } from "./terminal/common/screen.ts";
import { bar, cutEnd, padLeft, padRight, printable, wrapWords } from "./terminal/common/text.ts";

const TREND_SCHEMA = "memshade-trend";
const TREND_VERSION = 1;

/** Trend of a measure over builds (`memshade store trend --json`). */
interface TrendJson {
  /** Name and version of the format. */
  schema: typeof TREND_SCHEMA;
  version: typeof TREND_VERSION;
  /** Name of the project. */
  project: string;
  /** Word of the measure, and its unit. */
  measure: string;
  unit: string;
  /** True if every run of a build gives the same number, so that any difference counts. */
  repeatable: boolean;
  /** Builds, the oldest first. */
  builds: readonly TrendBuildJson[];
  /** Builds at which the measure changed. */
  steps: readonly TrendStepJson[];
  /** Limits of `--fail-on` that a step exceeds. */
  failed: readonly { limit: string; build: string; growth: number }[];
  /** Sentences about facts that the answer does not cover. */
  notTracked: readonly string[];
}

interface TrendBuildJson {
  /** Name of the build, and its commit if known. */
  build: string;
  commit: string | null;
  /** Time that orders the builds, in the form of ISO 8601: of the commit, or of the addition to the store. */
  time: string;
  orderedBy: "commit" | "added";
  /** Runs that have the measure. */
  runs: number;
  /** Mean of the runs, and their standard deviation. */
  mean: number;
  deviation: number;
}

interface TrendStepJson {
  /** Name of the build. */
  build: string;
  /** Means before the step, and from it on. */
  before: number;
  now: number;
  /** Welch's t; null if `exact`. */
  t: number | null;
  /** True if every run gives the same number. */
  exact: boolean;
  /** Call paths or locations that changed, the largest first. */
  parts: readonly TrendPartJson[];
}

interface TrendPartJson {
  /** Means before the step, and from it on. */
  before: number;
  now: number;
  /** Welch's t; null if the numbers are exact. */
  t: number | null;
  /** Method of pairing: the same path, or functions whose lines have moved. */
  matched: PartChange["matched"];
  /** Frames, innermost first. */
  frames: readonly { function: string; file: string | null; line: number | null; library: string | null }[];
}

/** Advice on the layout of data, from many runs (`memshade store advise --json`). */
interface AdviceJson {
  /** Name and version of the format. */
  schema: "memshade-advice";
  version: 1;
  /** Number of runs. */
  runs: number;
  /** Advice, the largest saving first. */
  advice: readonly LayoutAdviceJson[];
  /** Sentences about facts that the answer does not cover. */
  notTracked: readonly string[];
}

interface LayoutAdviceJson {
  /** Kind of advice. */
  kind: LayoutAdvice["kind"];
  /** Bytes saved. */
  saves: number;
  /** Runs that show it. */
  runs: number;
  /** Advice as a sentence. */
  sentence: string;
  /** Locations concerned. */
  places: readonly { function: string; file: string | null; line: number | null }[];
  /** Type of cold members, bytes of a record, and the members. */
  type?: string | null;
  element?: number;
  fields?: readonly { name: string | null; offset: number; size: number }[];
  /** Overlap of the intervals of blocks that are used together, 0…1. */
  overlap?: number;
  /** Bytes by which the largest working set would be smaller. */
  savesOfLargest?: number;
}

/** Formats a trend as JSON (docs/report-json.md). */
export function trendJson({ project, measure, builds, steps, failed, notes, isRepeatable }: Trend): string {
  const document: TrendJson = {
    schema: TREND_SCHEMA,
    version: TREND_VERSION,
    project,
    measure: measure.key,
    unit: measure.unit,
    repeatable: isRepeatable,
    builds: builds.map(({ build, commit, time, isCommitKnown, samples }) => ({
      build,
      commit: commit ?? null,
      time: new Date(time).toISOString(),
      orderedBy: isCommitKnown ? "commit" : "added",
      runs: samples.count,
      mean: meanOf(samples),
      deviation: Math.sqrt(varianceOf(samples)),
    })),
    steps: steps.map(({ at, before, now, t, parts }) => ({
      build: builds[at]!.build,
      before,
      now,
      t: finite(t),
      exact: t === undefined,
      parts: parts.map(({ frames, matched, ...part }) => ({
        before: part.before,
        now: part.now,
        t: finite(part.t),
        matched,
        frames: frames.map(({ name, file, line, library }) => ({
          function: name,
          file: file ?? null,
          line: line === undefined || line === 0 ? null : line,
          library: library ?? null,
        })),
      })),
    })),
    failed: failed.map(({ limit, build, growth }) => ({ limit: limit.text, build, growth })),
    notTracked: notes,
  };
  return jsonText(document);
}

function finite(t: number | undefined): number | null {
  return t === undefined || !Number.isFinite(t) ? null : t;
}

function amountInWords({ unit }: FleetMeasure, amount: number): string {
  return unit === "bytes" ? formatBytes(Math.round(amount)) : formatCount(Math.round(amount));
}

/** Formats a difference: `+1.5 MiB`. */
function differenceInWords(measure: FleetMeasure, { before, now }: { before: number; now: number }): string {
  const difference = now - before;
  return `${difference < 0 ? "-" : "+"}${amountInWords(measure, Math.abs(difference))}`;
}

/** Formats a factor: `1.25x`, `new` or `gone`. */
function factorInWords({ before, now }: { readonly before: number; readonly now: number }): string {
  if (before === 0) return "new";
  if (now === 0) return "gone";
  return `${(now / before).toFixed(2)}x`;
}

/** Returns the sentence for a trend without steps. */
function unchangedInWords({ builds, isRepeatable }: Trend): string {
  if (builds.length === 1) return "One build: what it is compared with is still to come.";
  return isRepeatable
    ? "Nothing has changed: every run gives the same number."
    : "Nothing has changed by more than the runs of one build differ.";
}

/** Formats the significance of a change. */
function noiseInWords({ t }: Pick<TrendStep | PartChange, "t">): string {
  if (t === undefined) return "exact";
  return Number.isFinite(t) ? `t = ${t.toFixed(1)}` : "no noise";
}

/**
 * Formats the program's own location on a path and the library function it called: `parse (json.c:12) via
 * realloc`.
 */
function placeInWords(frames: readonly PartFrame[]): string {
  const own = Math.max(0, ownDepth(librariesOf(frames)));
  const frame = frames[own];
  if (frame === undefined) return "unknown";
  const via = frames[own - 1];
  return `${frameInWords(frame)}${via === undefined ? "" : ` via ${bareName(via.name)}`}`;
}

/**
 * Formats the locations of several paths. Equal locations are distinguished by their callers: `xmalloc
 * (a.c:4) from parse (json.c:12)`.
 *
 * @param isWhole true to name all callers
 */
export function placesInWords(paths: readonly (readonly PartFrame[])[], isWhole = false): string[] {
  let places = paths.map(placeInWords);
  const callers = paths.map((frames) => frames.slice(Math.max(0, ownDepth(librariesOf(frames))) + 1));
  const most = callers.reduce((longest, { length }) => Math.max(longest, length), 0);
  for (let depth = 0; depth < most; depth++) {
    const counts = new Map<string, number>();
    for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
    if (!isWhole && counts.size === places.length) break;
    places = places.map((place, at) => {
      const caller = callers[at]![depth];
      return caller === undefined || (!isWhole && counts.get(place) === 1)
        ? place
        : `${place} from ${frameInWords(caller)}`;
    });
  }
  return places;
}

function frameInWords(frame: PartFrame): string {
  const place = shortPlace(frame);
  return `${bareName(frame.name)}${place === undefined ? "" : ` (${place})`}`;
}

function librariesOf(frames: readonly PartFrame[]): (string | undefined)[] {
  return frames.map(({ library }) => library);
}

function shortBuild(build: string): string {
  return /^[0-9a-f]{16,64}$/.test(build) ? build.slice(0, 10) : build;
}

type NamedFrames = ReadonlyMap<bigint, PartFrame>;

interface ShownAdvice {
  readonly advice: readonly LayoutAdvice[];
  readonly frames: NamedFrames;
  readonly runs: number;
  readonly notes: readonly string[];
}

/** Most pieces of advice printed; the JSON has all. */
const MOST_SHOWN = 10;

/** Prints advice as sentences, largest saving first. */
export function printAdvice(screen: Screen, { advice, frames, runs, notes }: ShownAdvice): void {
  if (advice.length === 0) screen.print(`Nothing is the same in all of ${plural(runs, "run")}.`);
  for (const item of advice.slice(0, MOST_SHOWN))
    screen.print(
      ...wrapWords(printable(adviceInWords(item, frames)), screen.width - 2).map((line, at) =>
        at === 0 ? line : `  ${line}`,
      ),
    );
  const hiddenCount = advice.length - MOST_SHOWN;
  if (hiddenCount > 0)
    screen.print(screen.paint.faint(`and ${hiddenCount} more that save less: --json has all`));
  for (const note of notes) screen.print(...wrapWords(note, screen.width).map(screen.paint.faint));
}

/** Forms a sentence: the pattern found in all runs, and the possible saving. */
function adviceInWords(advice: LayoutAdvice, frames: NamedFrames): string {
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

export function adviceJson({ advice, frames, runs, notes }: ShownAdvice): string {
  const document: AdviceJson = {
    schema: "memshade-advice",
    version: 1,
    runs,
    advice: advice.map((item) => ({
      kind: item.kind,
      saves: Math.round(item.saves),
      runs: item.runs,
      sentence: adviceInWords(item, frames),
      places: (item.kind === "cold-fields" ? [item.site] : item.sites).map((site) => {
        const { name, file, line } = frames.get(site)!;
        return { function: name, file: file ?? null, line: line === undefined || line === 0 ? null : line };
      }),
      ...(item.kind === "cold-fields"
        ? {
            type: item.type ?? null,
            element: item.element,
            fields: item.fields.map(({ name, ...field }) => ({ name: name ?? null, ...field })),
          }
        : { overlap: item.overlap, savesOfLargest: Math.round(item.savesOfLargest) }),
    })),
    notTracked: notes,
  };
  return jsonText(document);
}

const STYLE = `
:root { color-scheme: light dark; --fore: light-dark(#1c2024, #e6e8ea); --back: light-dark(#fff, #16191c);
  --faint: light-dark(#596168, #a0a8b0); --bar: light-dark(#3b6fb6, #6ea3ea); --step: light-dark(#b3401a, #f0906a); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fore); background: var(--back); margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .15rem .5rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.bar { width: 45%; } td.bar span { display: block; height: .9rem; min-width: 1px; background: var(--bar); border-radius: 2px; }
tr.step td.bar span { background: var(--step); } .faint { color: var(--faint); } .failed { color: var(--step); font-weight: 600; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; } a { color: inherit; }
td.build { min-width: 6rem; } td.day { white-space: nowrap; } @media (max-width: 34rem) { .day { display: none; } td, th { padding: .15rem .3rem; } }
`;

/** Formats a trend as a self-contained HTML file. */
export function trendHtml(trend: Trend): string {
  const { project, measure, builds, steps, failed, notes } = trend;
  const most = Math.max(...builds.map(({ samples }) => meanOf(samples)));
  const runs = builds.reduce((sum, { samples }) => sum + samples.count, 0);
  const rows = builds.map(({ build, time, samples }, at) => {
    const step = steps.find((candidate) => candidate.at === at);
    const mean = meanOf(samples);
    return `<tr${step === undefined ? "" : ' class="step"'}><td class="build"><code>${printableHtml(shortBuild(build))}</code></td><td class="faint day">${dayOf(time)}</td>
<td class="number">${samples.count}</td><td class="number">${amountInWords(measure, mean)}</td>
<td class="bar"><span style="width:${most === 0 ? 0 : ((100 * mean) / most).toFixed(2)}%"></span></td>
<td class="number">${step === undefined ? "" : `<a href="#step-${at}">${differenceInWords(measure, step)}</a>`}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${printableHtml(project)}: ${measure.title}</title><style>${STYLE}</style></head><body>
<h1>${printableHtml(project)}: ${measure.title}</h1>
<p class="faint">${plural(builds.length, "build")}, ${plural(runs, "run")}, the newest last.</p>
${failed.map(({ limit, build, growth }) => `<p class="failed">${printableHtml(limit.text)} failed at ${printableHtml(shortBuild(build))}: ${amountInWords(limit.measure, growth)} more than the build before.</p>`).join("\n")}
<table><thead><tr><th>build</th><th class="day">day</th><th class="number">runs</th><th class="number">mean</th><th></th><th class="number">change</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>
${steps.length === 0 ? `<p>${unchangedInWords(trend)}</p>` : ""}
${steps.map((step) => stepHtml(trend, step)).join("\n")}
${notes.map((note) => `<p class="faint">${printableHtml(note)}</p>`).join("\n")}
</body></html>
`;
}

function stepHtml({ builds, measure }: Trend, step: TrendStep): string {
  const places = placesInWords(step.parts.map(({ frames }) => frames));
  const rows = step.parts.map(
    (part, at) =>
      `<tr><td class="number">${differenceInWords(measure, part)}</td><td class="number">${factorInWords(part)}</td>
<td class="number faint">${noiseInWords(part)}</td><td><code>${printableHtml(places[at]!)}</code></td><td class="faint">${part.matched}</td></tr>`,
  );
  return `<h2 id="step-${step.at}"><code>${printableHtml(shortBuild(builds[step.at]!.build))}</code>: ${differenceInWords(measure, step)} (${factorInWords(step)}, ${noiseInWords(step)})</h2>
<table><thead><tr><th class="number">change</th><th class="number">factor</th><th class="number">noise</th><th>place</th><th>matched</th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
}

const BAR = 24;
const BUILD = 16;
/** Most parts shown per step. */
const MOST_PARTS = 5;

/** Prints a line with a bar per build, and the changes below. */
export function printTrend(screen: Screen, trend: Trend): void {
  const { paint } = screen;
  const { builds, measure, steps, project } = trend;
  const runs = builds.reduce((sum, { samples }) => sum + samples.count, 0);
  screen.printEnds(
    `${project}: ${measure.title}`,
    `${plural(builds.length, "build")}, ${plural(runs, "run")}`,
    paint.heading,
  );
  screen.print("");
  const most = Math.max(...builds.map(({ samples }) => meanOf(samples)));
  const width = Math.min(BUILD, Math.max(...builds.map(({ build }) => shortBuild(build).length)));
  for (const [at, { build, time, samples }] of builds.entries()) {
    const mean = meanOf(samples);
    const step = steps.find((candidate) => candidate.at === at);
    screen.print(
      `  ${padRight(cutEnd(printable(shortBuild(build)), width), width)}  ${paint.faint(dayOf(time))}  ` +
        `${padLeft(amountInWords(measure, mean), 9)}  ${paint.bar(padRight(bar(mean, most, BAR), BAR))}` +
        (step === undefined ? "" : `  ${paint.strong(`${differenceInWords(measure, step)}`)}`),
    );
  }
  screen.print("");
  if (steps.length === 0) screen.print(unchangedInWords(trend));
  for (const step of steps) printStep(screen, trend, step);
  screen.printShortened();
  for (const note of trend.notes) screen.print(...wrapWords(note, screen.width).map(paint.faint));
  for (const { limit, build, growth } of trend.failed)
    screen.print(
      paint.warning(
        `FAILED ${limit.text}: ${printable(shortBuild(build))} is ${amountInWords(limit.measure, growth)} above the build before`,
      ),
    );
}

function printStep(screen: Screen, { builds, measure }: Trend, step: TrendStep): void {
  const { paint } = screen;
  const build = printable(shortBuild(builds[step.at]!.build));
  screen.print(
    paint.strong(
      `${build}: ${measure.key} ${differenceInWords(measure, step)} (${factorInWords(step)}, ${noiseInWords(step)})`,
    ),
  );
  const shown = step.parts.slice(0, MOST_PARTS);
  const names = placesInWords(
    step.parts.map(({ frames }) => frames),
    screen.isWide,
  );
  for (const [at, part] of shown.entries()) {
    const figures = `  ${padLeft(differenceInWords(measure, part), 10)}  ${padLeft(factorInWords(part), 6)}  `;
    const noise = part.t === undefined ? "" : `  ${noiseInWords(part)}`;
    const name = names[at]!;
    const room = screen.width - figures.length - noise.length;
    screen.print(
      paint.amount(figures) +
        screen.shorten(name, (columns) => cutEnd(printable(name), columns), room) +
        paint.faint(noise),
    );
  }
  const hiddenCount = step.parts.length - shown.length;
  if (hiddenCount > 0)
    screen.print(paint.faint(`  and ${plural(hiddenCount, "smaller change")}: --json has all`));
  const moved = step.parts.filter(({ matched }) => matched === "by function").length;
  if (moved > 0)
    screen.print(
      paint.faint(`  ${plural(moved, "path")} matched by function: lines have moved inside of it`),
    );
  screen.print("");
}
