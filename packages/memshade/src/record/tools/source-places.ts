import type { RunPlace } from "../../profile/model/run.ts";
import type { LinesOf, SourcePlace } from "./session.ts";

/** Where a place is, as members of whatever has it in a file; none where that is not known. */
export function placeMembers(place: SourcePlace | undefined): {
  file?: string;
  line?: number;
  startLine?: number;
} {
  if (place?.file === undefined || place.line === 0) return {};
  const { file, line, startLine = 0 } = place;
  return { file, line, ...(startLine === 0 ? {} : { startLine }) };
}

/** What debug information says of a function that may stand between a program and its allocator. */
export function layerMembers(place: SourcePlace | undefined): { handsOutMemory?: boolean } {
  return place?.handsOutMemory ? { handsOutMemory: true } : {};
}

/** The same of a frame that has the name of a real function, with the name of the function that is inlined there. */
export function innermostMembers(place: SourcePlace | undefined): ReturnType<typeof placeMembers> & {
  inlined?: string;
} {
  const members = placeMembers(place);
  const isInlined = members.file !== undefined && (place?.outer?.length ?? 0) > 0;
  return isInlined && place?.function !== undefined ? { ...members, inlined: place.function } : members;
}

/** The places of code offsets, in their order; none for a module without debug information. */
export function runPlaces(
  linesOf: LinesOf | undefined,
  original: Uint8Array,
  offsets: Iterable<number>,
): RunPlace[] {
  const placeAt = linesOf?.(original);
  if (placeAt === undefined) return [];
  return [...offsets]
    .sort((a, b) => a - b)
    .flatMap((offset) => {
      const place = placeAt(offset);
      if (place === undefined) return [];
      const frames = [place, ...(place.outer ?? [])].map((one) => ({
        ...(one.function === undefined ? {} : { function: one.function }),
        ...placeMembers(one),
        ...layerMembers(one),
        ...(one.approximate ? { approximate: true } : {}),
        ...(one.column === undefined || one.column === 0 ? {} : { column: one.column }),
      }));
      return frames.some(({ file }) => file !== undefined) ? [{ offset, frames }] : [];
    });
}
