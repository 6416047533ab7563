import { ownDepth } from "../../../explain/analyses/frames/own-place.ts";
import { bareName, shortPlace } from "../../../explain/analyses/frames/place-names.ts";
import type { FleetMeasure } from "../../../explain/fleet/measures.ts";
import type { PartChange, PartFrame, Trend, TrendStep } from "../../../explain/fleet/trend.ts";
import { formatBytes, formatCount } from "../../../profile/model/format.ts";

/** An amount of a measure. */
export function amountInWords({ unit }: FleetMeasure, amount: number): string {
  return unit === "bytes" ? formatBytes(Math.round(amount)) : formatCount(Math.round(amount));
}

/** `+1.5 MiB`. */
export function differenceInWords(
  measure: FleetMeasure,
  { before, now }: { before: number; now: number },
): string {
  const difference = now - before;
  return `${difference < 0 ? "-" : "+"}${amountInWords(measure, Math.abs(difference))}`;
}

/** `1.25x`, or that it is new or gone. */
export function factorInWords({ before, now }: { readonly before: number; readonly now: number }): string {
  if (before === 0) return "new";
  if (now === 0) return "gone";
  return `${(now / before).toFixed(2)}x`;
}

/** What there is to say of a trend without steps. */
export function unchangedInWords({ builds, isRepeatable }: Trend): string {
  if (builds.length === 1) return "One build: what it is compared with is still to come.";
  return isRepeatable
    ? "Nothing has changed: every run gives the same number."
    : "Nothing has changed by more than the runs of one build differ.";
}

/** How sure a change is. */
export function noiseInWords({ t }: Pick<TrendStep | PartChange, "t">): string {
  if (t === undefined) return "exact";
  return Number.isFinite(t) ? `t = ${t.toFixed(1)}` : "no noise";
}

/** The program's own place on a path, and by which library: `parse (json.c:12) via realloc`. */
export function placeInWords(frames: readonly PartFrame[]): string {
  const own = Math.max(0, ownDepth(librariesOf(frames)));
  const frame = frames[own];
  if (frame === undefined) return "unknown";
  const via = frames[own - 1];
  return `${frameInWords(frame)}${via === undefined ? "" : ` via ${bareName(via.name)}`}`;
}

/**
 * The places of several paths; those that are one place are told apart by their callers: `xmalloc (a.c:4) from parse (json.c:12)`.
 *
 * @param isWhole whether all callers of all are named
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

/** A commit, or a build that is called otherwise, in few characters. */
export function shortBuild(build: string): string {
  return /^[0-9a-f]{16,64}$/.test(build) ? build.slice(0, 10) : build;
}
