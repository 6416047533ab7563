import type { FleetMeasure } from "../../analyses/fleet/measures.ts";
import type { PartChange, PartFrame, TrendStep } from "../../analyses/fleet/trend.ts";
import { ownDepth } from "../../analyses/frames/own-place.ts";
import { formatBytes, formatCount } from "../format.ts";
import { shortPlace } from "../frames.ts";
import { bareName } from "../place-names.ts";

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

/** How sure a change is. */
export function noiseInWords({ t }: Pick<TrendStep | PartChange, "t">): string {
  if (t === undefined) return "exact";
  return Number.isFinite(t) ? `t = ${t.toFixed(1)}` : "no noise";
}

/** The program's own place on a path, and by which library: `parse (json.c:12) via realloc`. */
export function placeInWords(frames: readonly PartFrame[]): string {
  const own = Math.max(0, ownDepth(frames.map(({ library }) => library)));
  const frame = frames[own];
  if (frame === undefined) return "unknown";
  const via = frames[own - 1];
  const place = shortPlace(frame);
  return `${bareName(frame.name)}${place === undefined ? "" : ` (${place})`}${via === undefined ? "" : ` via ${bareName(via.name)}`}`;
}

/** A commit, or a build that is called otherwise, in few characters. */
export function shortBuild(build: string): string {
  return /^[0-9a-f]{16,64}$/.test(build) ? build.slice(0, 10) : build;
}
