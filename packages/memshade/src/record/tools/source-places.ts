import type { RunPlace } from "../../profile/model/run.ts";
import type { LinesOf, SourcePlace } from "./session.ts";

/** Returns the members of a source location in a file; none if it is unknown. */
export function placeMembers(place: SourcePlace | undefined): {
  file?: string;
  line?: number;
  startLine?: number;
} {
  if (place?.file === undefined || place.line === 0) return {};
  const { file, line, startLine = 0 } = place;
  return { file, line, ...(startLine === 0 ? {} : { startLine }) };
}

/** Returns the member that marks a function as a layer over the allocator, by its debug information. */
export function layerMembers(place: SourcePlace | undefined): { handsOutMemory?: boolean } {
  return place?.handsOutMemory ? { handsOutMemory: true } : {};
}

/**
 * Like `placeMembers`, for a frame with a real function's name, with the name of the function that is inlined
 * there.
 */
export function innermostMembers(place: SourcePlace | undefined): ReturnType<typeof placeMembers> & {
  inlined?: string;
} {
  const members = placeMembers(place);
  const isInlined = members.file !== undefined && (place?.outer?.length ?? 0) > 0;
  return isInlined && place?.function !== undefined ? { ...members, inlined: place.function } : members;
}

/** Returns the source locations of code offsets, sorted; none for a module without debug information. */
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
      const frames = [place, ...(place.outer ?? [])].map((frame) => ({
        ...(frame.function === undefined ? {} : { function: frame.function }),
        ...placeMembers(frame),
        ...layerMembers(frame),
        ...(frame.approximate ? { approximate: true } : {}),
        ...(frame.column === undefined || frame.column === 0 ? {} : { column: frame.column }),
      }));
      return frames.some(({ file }) => file !== undefined) ? [{ offset, frames }] : [];
    });
}
