import type { RunPlace } from "../../profile/model/run.ts";
import type { Demangle } from "./demangle.ts";
import type { ModuleSymbols } from "./run-lines.ts";

/** Frames that a run recorded for places in a module, for readers without the original module. */
export function recordedPlaces(
  places: readonly RunPlace[] | undefined,
  demangle: Demangle,
): ModuleSymbols | undefined {
  if (places === undefined || places.length === 0) return undefined;
  const byOffset = new Map(places.map(({ offset, frames }) => [offset, frames]));
  return {
    frames: (offset) => {
      const frames = byOffset.get(offset) ?? [];
      return frames.map(
        (
          { function: name, file, line = 0, column = 0, startLine = 0, handsOutMemory, approximate },
          depth,
        ) => ({
          linkageName: name,
          function: name === undefined ? undefined : demangle(name),
          file,
          line,
          column,
          startLine,
          discriminator: 0,
          inlined: depth + 1 < frames.length,
          ...(handsOutMemory ? { handsOutMemory } : {}),
          ...(approximate ? { approximate } : {}),
        }),
      );
    },
  };
}
