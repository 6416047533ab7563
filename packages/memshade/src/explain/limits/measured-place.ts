import { NONE } from "../../profile/model/indices.ts";
import type { StackFrame } from "../../profile/model/working-set/working-set.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import type { PlaceFrame } from "../findings/finding-kind.ts";
import type { Finding } from "../findings/index.ts";
import { once } from "../measures/measure.ts";
import { insidePlace, type MeasuredStacks, placePath, type RowsOf } from "../measures/measured-stacks.ts";

export interface LimitFrame extends PlaceFrame {
  readonly library?: string | undefined;
}

/** Place with a part of a measure. */
export interface MeasuredPlace {
  /** Program's own frame, then its callers, outwards; empty for an owner that is not code. */
  readonly path: readonly LimitFrame[];
  /** Frames in libraries below the own frame, innermost first. */
  readonly inside?: readonly LimitFrame[] | undefined;
  readonly kind?: Finding["kind"] | undefined;
  readonly finding?: Finding | undefined;
}

/** Returns the place of each row. Rows that are not code have none. */
export const placesOfRows = once((measured: MeasuredStacks): readonly MeasuredPlace[] => {
  const { modules, stacks, rows, sites } = measured;
  const frames = stacks.frames.map(
    ({ function: name, isNameless, file, line, approximate, address, library, moduleIndex }): LimitFrame => ({
      function: isNameless === true ? undefined : name,
      file,
      line,
      ...(approximate === true ? { approximate } : {}),
      address,
      library,
      module: moduleIndex === undefined ? undefined : modules[moduleIndex]?.name,
    }),
  );
  const places: RowsOf<LimitFrame> = { stacks: { ...stacks, frames }, rows, sites };
  return Array.from({ length: rows.length }, (_, row): MeasuredPlace => {
    const isCode = rows[row] === NONE || stacks.frames[stacks.frame[rows[row]!]!]!.isWord !== true;
    return isCode ? { path: placePath(places, row), inside: insidePlace(places, row) } : { path: [] };
  });
});

export function workingSetPlace(stack: readonly StackFrame[], module: string | undefined): MeasuredPlace {
  return splitAtOwn(
    stack.map(({ name, file, line, offset, library }) => ({
      function: name,
      file,
      line,
      address: offset,
      library,
      module,
    })),
  );
}

export function findingPlace(finding: Finding): MeasuredPlace {
  const { path, via } = finding.place;
  return { path, inside: via === undefined ? [] : [via], kind: finding.kind, finding };
}

/** Separates a path into the program's own frame with its callers, and the library frames below it. */
export function splitAtOwn(frames: readonly LimitFrame[]): MeasuredPlace {
  const path = fromOwn(frames).stack;
  return { path, inside: frames.slice(0, frames.length - path.length) };
}
