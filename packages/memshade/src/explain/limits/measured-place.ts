import { NONE } from "../../profile/model/indices.ts";
import type { StackFrame } from "../../profile/model/working-set/working-set.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import type { PlaceFrame } from "../findings/finding-kind.ts";
import type { Finding } from "../findings/index.ts";
import { once } from "../measures/measure.ts";
import { insidePlace, type MeasuredStacks, placePath, type RowsOf } from "../measures/measured-stacks.ts";

/** A frame with what limits choose it by. */
export interface LimitFrame extends PlaceFrame {
  /** What library its code is of, in words. */
  readonly library?: string | undefined;
}

/** Where some of a measure is. */
export interface MeasuredPlace {
  /** The program's own frame, then its callers, outwards; empty for what is no code. */
  readonly path: readonly LimitFrame[];
  /** What the own frame called in libraries, innermost first. */
  readonly inside?: readonly LimitFrame[] | undefined;
  /** Of a finding. */
  readonly kind?: Finding["kind"] | undefined;
  /** The finding. */
  readonly finding?: Finding | undefined;
}

/** The place of each row. What is no code has none. */
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

/** The place of a call stack of the working set. */
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

/** The place of a finding. */
export function findingPlace(finding: Finding): MeasuredPlace {
  const { path, via } = finding.place;
  return { path, inside: via === undefined ? [] : [via], kind: finding.kind, finding };
}

/** The program's own frame first, and what it called in libraries apart. */
export function splitAtOwn(frames: readonly LimitFrame[]): MeasuredPlace {
  const path = fromOwn(frames).stack;
  return { path, inside: frames.slice(0, frames.length - path.length) };
}
