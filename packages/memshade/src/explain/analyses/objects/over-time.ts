import type { ModuleObjects } from "../../../profile/model/objects.ts";
import type { StackFrame } from "../../../profile/model/working-set/working-set.ts";
import { fromOwn } from "../frames/own-place.ts";
import { type Phase, phasesOf } from "../phases.ts";
import { framesOfPath } from "./shares.ts";

/** Where intervals begin and end, in bytes that were allocated, and what they have. */
export interface ObjectIntervals {
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly bytes: readonly number[];
  readonly objects: readonly number[];
}

/** Intervals in a row in which about the same is allocated by the same part of the program. */
export interface ObjectPhase extends Phase {
  readonly bytes: number;
  readonly objects: number;
  /** Index of the context that stands for it, −1: none is known. */
  readonly context: number;
}

/** What a site made in each interval. */
export interface SiteOverTime {
  readonly site: number;
  readonly bytes: readonly number[];
  readonly most: number;
}

/** The intervals of a module's objects; undefined where nobody looked. */
export function objectIntervals({ overTime }: ModuleObjects): ObjectIntervals | undefined {
  if (overTime === undefined) return undefined;
  const { end, objects } = overTime.intervals;
  const start = end.map((_, interval) => end[interval - 1] ?? 0);
  return { start, end, objects, bytes: end.map((at, interval) => at - start[interval]!) };
}

/** Phases by the mean size of objects, and by the context that allocated most in each interval. */
export function objectPhases(part: ModuleObjects): ObjectPhase[] {
  const intervals = objectIntervals(part);
  if (intervals === undefined) return [];
  const { start, end, bytes, objects } = intervals;
  const busiest = start.map(() => ({ context: -1, bytes: 0 }));
  for (const { context, ...columns } of part.overTime!.contexts)
    columns.intervals.forEach((interval, row) => {
      if (columns.bytes[row]! > busiest[interval]!.bytes)
        busiest[interval] = { context, bytes: columns.bytes[row]! };
    });
  const stackOf = busiest.map(({ context }) => context);
  const stacks: StackFrame[][] = part.contexts.path.map(() => []);
  for (const context of new Set(stackOf))
    if (context >= 0) stacks[context] = [...fromOwn(framesOfPath(part, part.contexts.path[context]!)).stack];
  const sizes = bytes.map((all, interval) => all / Math.max(1, objects[interval]!));
  const sum = (values: readonly number[], { first, last }: Phase) =>
    values.slice(first, last + 1).reduce((all, value) => all + value, 0);
  return phasesOf({ start, end, sizes, stackOf, stacks }).map((phase) => ({
    ...phase,
    bytes: sum(bytes, phase),
    objects: sum(objects, phase),
    context: phase.stack,
  }));
}

/** The sites of the contexts that are told of over time, those that allocated most in an interval first. */
export function objectSitesOverTime({ contexts, overTime }: ModuleObjects): SiteOverTime[] {
  if (overTime === undefined) return [];
  const bySite = new Map<number, number[]>();
  for (const { context, intervals, bytes } of overTime.contexts) {
    const site = contexts.site[context]!;
    const values = bySite.get(site) ?? overTime.intervals.end.map(() => 0);
    bySite.set(site, values);
    intervals.forEach((interval, row) => {
      values[interval]! += bytes[row]!;
    });
  }
  return [...bySite]
    .map(([site, bytes]) => ({ site, bytes, most: bytes.reduce((most, value) => Math.max(most, value), 0) }))
    .sort((a, b) => b.most - a.most);
}
