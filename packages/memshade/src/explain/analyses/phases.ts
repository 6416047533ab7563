import type { StackFrame } from "../../profile/model/working-set/working-set.ts";

/** Least part of a phase's snapshots that must go through the function that names it. */
const MAJORITY = 0.6;
/** Largest part of the other phases that may go through the naming function. */
const COMMON = 0.5;

/** Functions on the path of most of a phase's snapshots, outermost first. */
type MajorityPath = readonly {
  frame: StackFrame;
  numbers: readonly number[];
}[];

interface PhaseName {
  /** Function that works; absent if unknown. */
  name: string | undefined;
  /** Part of the snapshots that are in the function, 0…1. */
  agreement: number;
  /** Most frequent of these stacks, as an index into `stacks`; −1 if there is none. */
  stack: number;
}

/** Follows the majority of stacks from the outermost frame inwards. @param numbers stacks of some snapshots */
function majorityPath(
  stacks: readonly StackFrame[][],
  numbers: readonly number[],
  majority = MAJORITY,
): MajorityPath {
  const path: { frame: StackFrame; numbers: readonly number[] }[] = [];
  for (let agreeing = numbers; ; ) {
    const frameOf = (number: number) => stacks[number][stacks[number].length - 1 - path.length];
    const groups = groupBy(
      agreeing.filter((number) => frameOf(number) !== undefined),
      (number) => frameOf(number).function,
    );
    const [largest] = groups;
    if (largest === undefined || largest.length < majority * numbers.length) return path;
    path.push({ frame: frameOf(largest[0]), numbers: largest });
    agreeing = largest;
  }
}

/**
 * Names phases by the outermost of the program's own functions on a phase's majority path that most other phases do not
 * go through. Without such a function, the innermost one on the path is used. @param lengths snapshots of each phase
 */
function namePhases(paths: readonly MajorityPath[], lengths: readonly number[]): PhaseName[] {
  return paths.map((path, phase) => {
    const otherPaths = paths.filter((other, i) => i !== phase && other.length > 0);
    const isOwn = (depth: number): boolean =>
      otherPaths.filter((other) => sharesWay(path, other, depth)).length <= COMMON * otherPaths.length;
    const depths = tellingDepths(path);
    const own = otherPaths.length === 0 ? undefined : depths.find(isOwn);
    const at = path[own ?? depths.at(-1) ?? -1];
    if (at === undefined) return { name: undefined, agreement: 0, stack: -1 };
    const { frame, numbers } = at;
    const [usual] = groupBy(numbers, (number) => number);
    return {
      name: frame.name ?? `func[${frame.function}]`,
      agreement: numbers.length / lengths[phase],
      stack: usual?.[0] ?? -1,
    };
  });
}

/** Returns the depths of the program's own named functions on a path, outermost first; all depths if there are none. */
function tellingDepths(path: MajorityPath): number[] {
  const depths = [...path.keys()];
  const own = depths.filter((depth) => {
    const { name, library } = path[depth].frame;
    return name !== undefined && library === undefined;
  });
  return own.length === 0 ? depths : own;
}

function sharesWay(path: MajorityPath, other: MajorityPath, depth: number): boolean {
  return path.slice(0, depth + 1).every(({ frame }, i) => other[i]?.frame.function === frame.function);
}

function groupBy(numbers: readonly number[], keyOf: (number: number) => number): number[][] {
  const groups = new Map<number, number[]>();
  for (const number of numbers) {
    const group = groups.get(keyOf(number));
    if (group === undefined) groups.set(keyOf(number), [number]);
    else group.push(number);
  }
  return [...groups.values()].sort((a, b) => b.length - a.length);
}

/** Intervals of a run: their sizes, and the stack at the end of each. */
interface Intervals {
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly sizes: readonly number[];
  /** Indices into `stacks`; −1: unknown. */
  readonly stackOf: readonly number[];
  readonly stacks: readonly StackFrame[][];
}

/** Consecutive intervals in which a program does one kind of work with about the same amount of memory. */
export interface Phase extends PhaseName {
  /** First and last interval. */
  first: number;
  last: number;
  /** Start and end, in units of time. */
  start: number;
  end: number;
  /** Mean and largest size. */
  mean: number;
  peak: number;
}

const MOST_PHASES = 12;
/** Factor below which a change of the size starts no new phase, if the program continues with the same work. */
const SMALLEST_CHANGE = 1.35;
/** Weight of a change of work, equal to a fourfold size: the square of that factor's logarithm. */
const OTHER_WORK = 4;
/** Weight of the stack of a single interval, which is sampled only at its end. */
const LONE_EVIDENCE = 0.02;
/** Part of all snapshots whose common path is the trunk. Frames beyond the trunk show the kind of work. */
const TRUNK = 0.9;

interface Segment {
  first: number;
  last: number;
  /** Sum of their sizes on a logarithmic scale. */
  sizes: number;
  /** Number of intervals that ended in each kind of work. */
  works: ReadonlyMap<number, number>;
}

/**
 * Splits a run into phases. Neighbouring segments are joined, the most similar ones first, while their mean sizes are
 * close on a logarithmic scale and the work is the same, or while there are too many phases.
 */
export function phasesOf(intervals: Intervals): Phase[] {
  const { start, end, sizes, stackOf, stacks } = intervals;
  const works = worksOf(intervals);
  const segments = sizes.map((size, i): Segment => {
    const own = works[i] === undefined ? [] : [[works[i], 1] as const];
    return { first: i, last: i, sizes: Math.log2(size + 1), works: new Map(own) };
  });
  join(segments);
  const numbers = segments.map(({ first, last }) =>
    stackOf.slice(first, last + 1).filter((stack) => stack >= 0),
  );
  const names = namePhases(
    numbers.map((ofPhase) => majorityPath(stacks, ofPhase)),
    numbers.map(({ length }) => length),
  );
  return segments.map(({ first, last }, i) => {
    const own = sizes.slice(first, last + 1);
    return {
      first,
      last,
      start: start[first],
      end: end[last],
      mean: own.reduce((sum, size) => sum + size, 0) / own.length,
      peak: Math.max(...own),
      ...names[i],
    };
  });
}

/**
 * Returns the work at the end of each interval: the function called where the stacks of the run diverge; undefined if
 * no stack is known.
 */
function worksOf({ stacks, stackOf }: Intervals): (number | undefined)[] {
  const trunk = majorityPath(
    stacks,
    stackOf.filter((stack) => stack >= 0),
    TRUNK,
  ).length;
  return stackOf.map((number) => {
    const stack = stacks[number];
    if (stack === undefined) return undefined;
    return stack[stack.length - 1 - trunk]?.function ?? -1;
  });
}

/** Joins the segments whose union adds least to the variance inside of segments (Ward's criterion). */
function join(segments: Segment[]): void {
  const threshold = Math.log2(SMALLEST_CHANGE) ** 2;
  const costs = segments.slice(1).map((segment, i) => costOf(segments[i], segment));
  while (segments.length > 1) {
    let best = 0;
    for (let i = 1; i < costs.length; i++) if (costs[i] < costs[best]) best = i;
    const [a, b] = [segments[best], segments[best + 1]];
    const isSmall = distanceOf(a, b) < threshold;
    if (segments.length <= MOST_PHASES && !isSmall && costs[best] > threshold) return;
    const works = new Map(a.works);
    for (const [work, count] of b.works) works.set(work, (works.get(work) ?? 0) + count);
    segments.splice(best, 2, { first: a.first, last: b.last, sizes: a.sizes + b.sizes, works });
    costs.splice(best, 1);
    if (best > 0) costs[best - 1] = costOf(segments[best - 1], segments[best]);
    if (best < costs.length) costs[best] = costOf(segments[best], segments[best + 1]);
  }
}

function costOf(a: Segment, b: Segment): number {
  return ((length(a) * length(b)) / (length(a) + length(b))) * distanceOf(a, b);
}

/** Returns the square of the distance between the means of two segments. */
function distanceOf(a: Segment, b: Segment): number {
  const evidence = 1 - (1 - LONE_EVIDENCE) / Math.min(length(a), length(b));
  const works = OTHER_WORK * evidence * differenceOf(a.works, b.works);
  return (a.sizes / length(a) - b.sizes / length(b)) ** 2 + works;
}

function length({ first, last }: Segment): number {
  return last - first + 1;
}

/**
 * Returns the difference of two distributions of work, corrected for chance: 0 for equal ones, 1 for disjoint ones; 0
 * if one is unknown.
 */
function differenceOf(a: Segment["works"], b: Segment["works"]): number {
  const [totalA, totalB] = [a, b].map((works) => [...works.values()].reduce((sum, count) => sum + count, 0));
  if (totalA === 0 || totalB === 0) return 0;
  let difference = 0;
  let chance = 1;
  for (const work of new Set([...a.keys(), ...b.keys()])) {
    const [countA, countB] = [a.get(work) ?? 0, b.get(work) ?? 0];
    difference += (countA / totalA - countB / totalB) ** 2 / 2;
    chance -= ((countA + countB) / (totalA + totalB)) ** 2;
  }
  // Mean difference of two samples from the same distribution.
  const expected = ((1 / totalA + 1 / totalB) * chance) / 2;
  return Math.max(LONE_EVIDENCE * difference, difference - 2 * expected);
}
