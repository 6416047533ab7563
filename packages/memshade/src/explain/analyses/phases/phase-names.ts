import type { StackFrame } from "../../../profile/model/working-set/working-set.ts";

/** Part of a phase's snapshots that must go through a function for the phase to be named after it. */
const MAJORITY = 0.6;
/** Part of the other phases that go through a function where it tells nothing of a phase. */
const COMMON = 0.5;

/** The functions that most of a phase's snapshots go through, outermost first. */
export type MajorityPath = readonly {
  frame: StackFrame;
  /** Those of the snapshots that go through it: numbers of their stacks. */
  numbers: readonly number[];
}[];

export interface PhaseName {
  /** The function that the phase is named after. */
  name: string | undefined;
  /** Part of the snapshots whose stacks go through that function. */
  agreement: number;
  /** The most frequent of these stacks, as an index into `stacks`; −1 if there is none. */
  stack: number;
}

/** Follows the majority from the outermost frame inwards. `numbers`: the stacks of some snapshots. */
export function majorityPath(
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
export function namePhases(paths: readonly MajorityPath[], lengths: readonly number[]): PhaseName[] {
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
