import { type GranuleAccesses, granuleAccesses } from "../../../../explain/analyses/granule-accesses.ts";
import { formatBytes, formatCount } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../profile/model/indices.ts";
import { sparkline } from "../common/sparkline.ts";

const MOST_COLUMNS = 64;
const MOST_RANGES = 3;

/** Lines that show where in the blocks of some contexts accesses went, and where none did. */
export function accessedPlaces(
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  indent: number,
): string[] {
  const places = granuleAccesses(profile, contexts);
  const { counts, granuleBytes, isCut } = places;
  if (counts.length === 0) return [];
  const most = counts.reduce((largest, count) => Math.max(largest, count), 0);
  const busiest = counts.indexOf(most);
  const margin = " ".repeat(indent);
  const facts = [
    `${formatBytes(counts.length * granuleBytes)} long`,
    ...(most === 0
      ? []
      : [`most at byte ${busiest * granuleBytes}: ${formatCount(most)}${isCut[busiest] ? " or more" : ""}`]),
    untouchedText(places),
  ];
  return [`${margin}│${sparkline([...counts], MOST_COLUMNS)}│`, `${margin}${facts.join(" · ")}`];
}

function untouchedText({ untouched }: GranuleAccesses): string {
  if (untouched.length === 0) return "all of it accessed";
  const named = untouched.slice(0, MOST_RANGES).map(({ start, end }) => `${start}–${end - 1}`);
  const more = untouched.length > MOST_RANGES ? ` and ${untouched.length - MOST_RANGES} more ranges` : "";
  return `never bytes ${named.join(", ")}${more}`;
}
