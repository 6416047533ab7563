import type {
  Attribution,
  AttributionKind,
  InstanceWorkingSet,
  StackFrame,
} from "../../profile/model/working-set/working-set.ts";
import { fromOwn } from "./frames/own-place.ts";
import { type Phase, phasesOf } from "./phases.ts";

/** Contexts that look equal to a reader: the same functions and, if known, lines. */
interface AttributedPlace {
  kind: AttributionKind;
  of?: string | undefined;
  /** Frames, innermost first, without an offset if the place combines several; empty for an owner that is not code. */
  stack: StackFrame[];
  total: number;
  mean: number;
}

/**
 * Returns all places of an attribution. For owners, each allocating call is a place, in descending order of lines per
 * interval. For first touches, functions are places if lines are unknown, in descending order of lines of the whole
 * run.
 */
export function attributedPlaces(
  { contexts }: Attribution,
  role: "owners" | "firstTouch",
): AttributedPlace[] {
  const places = new Map<string, AttributedPlace>();
  for (const { kind, of: object, stack, total, mean } of contexts) {
    const [frame, ...callers] = stack;
    const innermost = role === "owners" ? `${frame?.offset}` : "";
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
  const [by, then] = role === "owners" ? (["mean", "total"] as const) : (["total", "mean"] as const);
  return [...places.values()].sort((a, b) => b[by] - a[by] || b[then] - a[then]);
}

function placeKey({ function: index, file, line }: StackFrame): string {
  return line === undefined ? `${index}` : `${index} ${file}:${line}`;
}

/** Lines of an interval that are attributed to one function, or to an owner that is not code. */
interface AttributedLines extends Pick<AttributedPlace, "kind" | "of"> {
  frame: StackFrame | undefined;
  lines: number;
}

/**
 * Returns the lines of one interval by the function that touched or allocated, or by the owner that is not code. The
 * owner with most lines comes first.
 */
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
    const existing = functions.get(key);
    if (existing === undefined) functions.set(key, { kind, of, frame, lines });
    else existing.lines += lines;
  }
  return [...functions.values()].sort((a, b) => b.lines - a.lines);
}

/** Consecutive intervals in which the same function works on about as many lines. */
export interface WorkingSetPhase extends Omit<Phase, "mean" | "peak"> {
  /** Lines per interval: mean and largest. */
  meanLines: number;
  peakLines: number;
}

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

/** Joins a partial last interval to the phase before it: it has fewer lines only because the run ended. */
function withoutRest(phases: WorkingSetPhase[]): WorkingSetPhase[] {
  const [before, rest] = phases.slice(-2);
  if (rest === undefined || rest.first < rest.last || rest.meanLines > before.meanLines) return phases;
  return [...phases.slice(0, -2), { ...before, last: rest.last, end: rest.end }];
}
