import type { InstanceWorkingSet, StackFrame } from "../../model/working-set.ts";

/** Intervals in a row in which a program works on about the same amount of memory. */
export interface Phase {
  /** First and last level-0 interval. */
  first: number;
  last: number;
  start: number;
  end: number;
  /** Mean and largest number of lines per interval. */
  meanLines: number;
  peakLines: number;
  /** The function that most of its snapshots were in, as deep as most of them agree; outermost frame last. */
  name: string | undefined;
  /** Part of the snapshots whose stacks go through that function. */
  agreement: number;
  /** The most frequent of these stacks, as an index into `stacks` of the instance; −1 if there is none. */
  stack: number;
}

const MOST_PHASES = 12;
/** A change of the working set by less than this factor is no other phase. */
const SMALLEST_CHANGE = 1.35;
/** Part of a phase's snapshots that must go through a function for the phase to be named after it. */
const MAJORITY = 0.6;

/**
 * Splits a run into phases: neighbouring intervals are joined, the most similar ones first, as long as their mean sizes
 * differ by little on a logarithmic scale or there are too many phases.
 */
export function findPhases(instance: InstanceWorkingSet): Phase[] {
  const [level] = instance.levels;
  const lines = level.counts.lines ?? [];
  interface Segment {
    first: number;
    last: number;
    sum: number;
  }
  const segments: Segment[] = lines.map((count, i) => ({ first: i, last: i, sum: Math.log2(count + 1) }));
  const mean = ({ first, last, sum }: Segment) => sum / (last - first + 1);
  const length = ({ first, last }: Segment) => last - first + 1;
  // Ward's criterion: what joining two segments adds to the variance inside of segments.
  const cost = (a: Segment, b: Segment) =>
    ((length(a) * length(b)) / (length(a) + length(b))) * (mean(a) - mean(b)) ** 2;
  const threshold = Math.log2(SMALLEST_CHANGE);
  while (segments.length > 1) {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i + 1 < segments.length; i++) {
      const added = cost(segments[i], segments[i + 1]);
      if (added < least) {
        least = added;
        best = i;
      }
    }
    const [a, b] = [segments[best], segments[best + 1]];
    const isSmall = Math.abs(mean(a) - mean(b)) < threshold;
    if (segments.length <= MOST_PHASES && !isSmall && least > threshold ** 2) break;
    segments.splice(best, 2, { first: a.first, last: b.last, sum: a.sum + b.sum });
  }
  return segments.map(({ first, last }) => {
    const counts = lines.slice(first, last + 1);
    const stacks = instance.stackOf.slice(first, last + 1).filter((stack) => stack >= 0);
    return {
      first,
      last,
      start: level.start[first],
      end: level.end[last],
      meanLines: counts.reduce((sum, count) => sum + count, 0) / counts.length,
      peakLines: Math.max(...counts),
      ...nameOf(instance.stacks, stacks),
    };
  });
}

/** Follows the majority from the outermost frame inwards. `numbers`: the stacks of the phase's snapshots. */
function nameOf(
  stacks: readonly StackFrame[][],
  numbers: readonly number[],
): Pick<Phase, "name" | "agreement" | "stack"> {
  let agreeing = numbers;
  let name: string | undefined;
  let agreement = 0;
  for (let depth = 1; ; depth++) {
    const frameOf = (number: number) => stacks[number][stacks[number].length - depth];
    const groups = groupBy(
      agreeing.filter((number) => frameOf(number) !== undefined),
      (number) => frameOf(number).function,
    );
    const [largest] = groups;
    if (largest === undefined || largest.length < MAJORITY * numbers.length) break;
    const frame = frameOf(largest[0]);
    name = frame.name ?? `func[${frame.function}]`;
    agreement = largest.length / numbers.length;
    agreeing = largest;
  }
  const [usual] = name === undefined ? [] : groupBy(agreeing, (number) => number);
  return { name, agreement, stack: usual?.[0] ?? -1 };
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
