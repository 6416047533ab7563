import type {
  Attribution,
  AttributionKind,
  InstanceWorkingSet,
  StackFrame,
} from "../../profile/model/working-set/working-set.ts";
import { fromOwn } from "./frames/own-place.ts";
import { type Phase, phasesOf } from "./phases.ts";

/** Contexts that a reader cannot tell apart: the same functions and, where they are known, lines. */
interface AttributedPlace {
  kind: AttributionKind;
  /** Name of the object or file that it is of. */
  of?: string | undefined;
  /** Innermost frame first, without its offset where it stands for several; none for what is no code. */
  stack: StackFrame[];
  /** Lines of the whole run. */
  total: number;
  /** Lines per level-0 interval, on average. */
  mean: number;
}

/**
 * All places of an attribution. Owners: each call that allocates is a place, those with most lines per interval first. First
 * touches: without lines in the source, functions are, those with most lines of the whole run first.
 */
export function attributedPlaces({ contexts }: Attribution, of: "owners" | "firstTouch"): AttributedPlace[] {
  const places = new Map<string, AttributedPlace>();
  for (const { kind, of: object, stack, total, mean } of contexts) {
    const [frame, ...callers] = stack;
    const innermost = of === "owners" ? `${frame?.offset}` : "";
    const key = `${kind} ${object} ${innermost} ${stack.map(placeKey).join(" ")}`;
    const place = places.get(key);
    if (place === undefined) {
      places.set(key, { kind, of: object, stack, total, mean });
      continue;
    }
    place.total += total;
    place.mean += mean;
    if (place.stack[0]?.offset === frame?.offset) continue;
    const { offset: _, ...several } = frame;
    place.stack = [several, ...callers];
  }
  const [by, then] = of === "owners" ? (["mean", "total"] as const) : (["total", "mean"] as const);
  return [...places.values()].sort((a, b) => b[by] - a[by] || b[then] - a[then]);
}

function placeKey({ function: index, file, line }: StackFrame): string {
  return line === undefined ? `${index}` : `${index} ${file}:${line}`;
}

/** Of an interval: what lines are attributed to that have a function in common, or are no code's. */
interface AttributedLines extends Pick<AttributedPlace, "kind" | "of"> {
  frame: StackFrame | undefined;
  lines: number;
}

/** Lines of one interval by the function that touched or allocated, or by what is no code; most lines first. */
export function functionsOfInterval(
  { contexts, levels }: Attribution,
  level: number,
  interval: number,
): AttributedLines[] {
  const functions = new Map<string, AttributedLines>();
  for (const [number, lines] of levels[level]?.intervals[interval] ?? []) {
    const { kind, of, stack } = contexts[number];
    const [frame] = fromOwn(stack).stack;
    const key = `${kind} ${of} ${frame?.function}`;
    const known = functions.get(key);
    if (known === undefined) functions.set(key, { kind, of, frame, lines });
    else known.lines += lines;
  }
  return [...functions.values()].sort((a, b) => b.lines - a.lines);
}

/** Level-0 intervals in a row in which a program does one thing with about the same working set. */
interface WorkingSetPhase extends Omit<Phase, "mean" | "peak"> {
  /** Mean and largest number of lines per interval. */
  meanLines: number;
  peakLines: number;
}

/** The phases of an instance by the lines of its intervals. */
export function findPhases({ levels, stackOf, stacks }: InstanceWorkingSet): WorkingSetPhase[] {
  const [{ start, end, counts, lastIsPartial }] = levels;
  const phases = phasesOf({ start, end, sizes: counts.lines ?? [], stackOf, stacks }).map(
    ({ first, last, start: from, end: to, mean, peak, ...name }): WorkingSetPhase => ({
      first,
      last,
      start: from,
      end: to,
      meanLines: mean,
      peakLines: peak,
      ...name,
    }),
  );
  return lastIsPartial ? withoutRest(phases) : phases;
}

/** An interval that the end of the run cuts short has fewer lines for that alone: it belongs to what was before. */
function withoutRest(phases: WorkingSetPhase[]): WorkingSetPhase[] {
  const [before, rest] = phases.slice(-2);
  if (rest === undefined || rest.first < rest.last || rest.meanLines > before.meanLines) return phases;
  return [...phases.slice(0, -2), { ...before, last: rest.last, end: rest.end }];
}
