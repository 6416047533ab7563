import { dayOf } from "../../../explain/fleet/day.ts";
import type { Trend, TrendStep } from "../../../explain/fleet/trend.ts";
import { meanOf } from "../../../explain/fleet/welch.ts";
import { plural } from "../../../profile/model/format.ts";
import type { Screen } from "../terminal/common/screen.ts";
import { bar, cutEnd, padLeft, padRight, printable, wrapWords } from "../terminal/common/text.ts";
import {
  amountInWords,
  differenceInWords,
  factorInWords,
  noiseInWords,
  placesInWords,
  shortBuild,
  unchangedInWords,
} from "./words.ts";

const BAR = 24;
const BUILD = 16;
/** Parts of a step that are told. */
const MOST_PARTS = 5;

/** A line per build with a bar, and below what changed. */
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
      paint.amount(figures) + screen.shorten(name, cutEnd(printable(name), room)) + paint.faint(noise),
    );
  }
  const left = step.parts.length - shown.length;
  if (left > 0) screen.print(paint.faint(`  and ${plural(left, "smaller change")}: --json has all`));
  const moved = step.parts.filter(({ matched }) => matched === "by function").length;
  if (moved > 0)
    screen.print(
      paint.faint(`  ${plural(moved, "path")} matched by function: lines have moved inside of it`),
    );
  screen.print("");
}
