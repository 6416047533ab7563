import type { StackFrame } from "../../profile/model/working-set/working-set.ts";

/** Part of a phase's snapshots that must go through a function for the phase to be named after it. */
const MAJORITY = 0.6;
/** Part of the other phases that go through a function where it tells nothing of a phase. */
const COMMON = 0.5;

/** The functions that most of a phase's snapshots go through, outermost first. */
type MajorityPath = readonly {
  frame: StackFrame;
  /** Those of the snapshots that go through it: numbers of their stacks. */
  numbers: readonly number[];
}[];

interface PhaseName {
  /** The function that the phase is named after. */
  name: string | undefined;
  /** Part of the snapshots whose stacks go through that function. */
  agreement: number;
  /** The most frequent of these stacks, as an index into `stacks`; −1 if there is none. */
  stack: number;
}

/** Follows the majority from the outermost frame inwards. `numbers`: the stacks of some snapshots. */
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
 * Names of phases: the outermost of the program's own functions on the way of a phase's majority that most other phases do not go
 * through. Where there is none, the innermost on that way. `lengths`: snapshots of each phase.
 */
function namePhases(paths: readonly MajorityPath[], lengths: readonly number[]): PhaseName[] {
  return paths.map((path, phase) => {
    const others = paths.filter((other, i) => i !== phase && other.length > 0);
    const isOwn = (depth: number): boolean =>
      others.filter((other) => sharesWay(path, other, depth)).length <= COMMON * others.length;
    const depths = tellingDepths(path);
    const own = others.length === 0 ? undefined : depths.find(isOwn);
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

/** Where on a way the program's own functions are, outermost first; all where it has none with a name. */
function tellingDepths(path: MajorityPath): number[] {
  const all = [...path.keys()];
  const own = all.filter((depth) => {
    const { name, library } = path[depth].frame;
    return name !== undefined && library === undefined;
  });
  return own.length === 0 ? all : own;
}

/** Whether two ways are the same up to a depth. */
function sharesWay(path: MajorityPath, other: MajorityPath, depth: number): boolean {
  return path.slice(0, depth + 1).every(({ frame }, i) => other[i]?.frame.function === frame.function);
}

/** Numbers with one key each, the largest group first. */
function groupBy(numbers: readonly number[], keyOf: (number: number) => number): number[][] {
  const groups = new Map<number, number[]>();
  for (const number of numbers) {
    const group = groups.get(keyOf(number));
    if (group === undefined) groups.set(keyOf(number), [number]);
    else group.push(number);
  }
  return [...groups.values()].sort((a, b) => b.length - a.length);
}

/** Intervals of a run: how much there was in each, and what the program did at its end. */
interface Intervals {
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly sizes: readonly number[];
  /** Indices into `stacks`; −1: not known. */
  readonly stackOf: readonly number[];
  /** Innermost frames first. */
  readonly stacks: readonly StackFrame[][];
}

/** Intervals in a row in which a program does one thing with about the same amount of memory. */
export interface Phase extends PhaseName {
  /** First and last interval. */
  first: number;
  last: number;
  start: number;
  end: number;
  /** Mean and largest size of an interval. */
  mean: number;
  peak: number;
}

const MOST_PHASES = 12;
/** A change of the size by less than this factor is no other phase, if the program goes on with what it does. */
const SMALLEST_CHANGE = 1.35;
/** Something else to do is as much of a change as four times the size: the square of its logarithm. */
const OTHER_WORK = 4;
/** What the stack of a single interval, which is that of its end, counts for. */
const LONE_EVIDENCE = 0.02;
/** Part of all snapshots that go through a function from which on stacks tell what the program does. */
const TRUNK = 0.9;

/** Intervals in a row, while they are joined. */
interface Segment {
  first: number;
  last: number;
  /** Sum of their sizes on a logarithmic scale. */
  sizes: number;
  /** How many of them ended in each kind of work. */
  works: ReadonlyMap<number, number>;
}

/**
 * Splits a run into phases: neighbouring intervals are joined, the most similar ones first, as long as their mean sizes
 * differ by little on a logarithmic scale and the same work goes on, or there are too many phases.
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

/** What intervals ended in: the function that is called where the stacks of the run part; undefined if no stack is known. */
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

/** Square of the distance between the means of two segments. */
function distanceOf(a: Segment, b: Segment): number {
  const evidence = 1 - (1 - LONE_EVIDENCE) / Math.min(length(a), length(b));
  const works = OTHER_WORK * evidence * differenceOf(a.works, b.works);
  return (a.sizes / length(a) - b.sizes / length(b)) ** 2 + works;
}

function length({ first, last }: Segment): number {
  return last - first + 1;
}

/** From 0, the same parts of the same works but for chance, to 1; 0 if one is not known. */
function differenceOf(a: Segment["works"], b: Segment["works"]): number {
  const [all, others] = [a, b].map((works) => [...works.values()].reduce((sum, count) => sum + count, 0));
  if (all === 0 || others === 0) return 0;
  let difference = 0;
  let chance = 1;
  for (const work of new Set([...a.keys(), ...b.keys()])) {
    const [here, there] = [a.get(work) ?? 0, b.get(work) ?? 0];
    difference += (here / all - there / others) ** 2 / 2;
    chance -= ((here + there) / (all + others)) ** 2;
  }
  // Two draws from the same works differ by so much on average.
  const expected = ((1 / all + 1 / others) * chance) / 2;
  return Math.max(LONE_EVIDENCE * difference, difference - 2 * expected);
}
