import { NONE } from "../../profile/model/indices.ts";
import type { StackFrame } from "../measures/measured-stacks.ts";
import type { StackGrouping, WeightedStacks } from "./weighted-stacks.ts";

export interface CallTreeOptions {
  /** Index of the metric. */
  readonly metric: number;
  readonly group: StackGrouping;
  /** From the innermost frames to those that called them, instead of the other way. */
  readonly isInverted: boolean;
}

/**
 * A place or function with everything that goes on in it: `total` is `own` and the totals of all children together.
 */
export interface CallNode {
  /** The heaviest place that the node stands for. */
  readonly frame: StackFrame;
  /** How many places it stands for. */
  readonly places: number;
  readonly total: number;
  /** Of paths that end here: at their innermost frame, in an inverted tree at their outermost one. */
  readonly own: number;
  /** What it called, in an inverted tree who called it; the largest total first. They are found when somebody asks. */
  readonly children: readonly CallNode[];
}

export interface CallTree {
  /** The totals of all roots together. */
  readonly total: number;
  /** Paths that have a value. */
  readonly paths: number;
  readonly roots: readonly CallNode[];
}

const NO_PATH: StackFrame = { function: "no call path", isWord: true };

/** The tree of all paths that have a value of a metric. Sums of whole numbers are exact. */
export function callTree(stacks: WeightedStacks, { metric, group, isInverted }: CallTreeOptions): CallTree {
  const own = new Float64Array(stacks.prefix.length);
  let [paths, pathless] = [0, 0];
  for (const { stack, values } of stacks.rows) {
    const value = values[metric]!;
    if (value === 0) continue;
    paths++;
    if (stack === NONE) pathless += value;
    else own[stack]! += value;
  }
  const groupOf = frameGroups(stacks.frames, group);
  const roots = isInverted ? invertedRoots(stacks, groupOf, own) : topDownRoots(stacks, groupOf, own);
  if (pathless > 0) roots.push({ frame: NO_PATH, places: 1, total: pathless, own: pathless, children: [] });
  roots.sort(compareNodes);
  return { total: roots.reduce((sum, { total }) => sum + total, 0), paths, roots };
}

/** Stacks that one node stands for; what each counts there, in all and of paths that end there. */
interface Members {
  readonly at: number[];
  readonly total: number[];
  readonly own: number[];
}

function topDownRoots(stacks: WeightedStacks, groupOf: Int32Array, own: Float64Array): CallNode[] {
  const { prefix } = stacks;
  const total = own.slice();
  // Callers stand before what they call.
  for (let stack = prefix.length - 1; stack >= 0; stack--)
    if (prefix[stack] !== NONE) total[prefix[stack]!]! += total[stack]!;
  const called: number[][] = prefix.map(() => []);
  const outermost: number[] = [];
  for (let stack = 0; stack < prefix.length; stack++) {
    if (total[stack] === 0) continue;
    const caller = prefix[stack]!;
    if (caller === NONE) outermost.push(stack);
    else called[caller]!.push(stack);
  }
  const membersOf = (at: number[]): Members => ({
    at,
    total: at.map((stack) => total[stack]!),
    own: at.map((stack) => own[stack]!),
  });
  const childrenOf = ({ at }: Members): CallNode[] =>
    nodesOf(stacks, groupOf, membersOf(at.flatMap((stack) => called[stack]!)), childrenOf);
  return nodesOf(stacks, groupOf, membersOf(outermost), childrenOf);
}

function invertedRoots(stacks: WeightedStacks, groupOf: Int32Array, own: Float64Array): CallNode[] {
  const { prefix } = stacks;
  const membersOf = (at: number[], total: number[]): Members => ({
    at,
    total,
    own: at.map((stack, index) => (prefix[stack] === NONE ? total[index]! : 0)),
  });
  const childrenOf = ({ at, total }: Members): CallNode[] => {
    const calling: [stacks: number[], totals: number[]] = [[], []];
    for (const [index, stack] of at.entries()) {
      if (prefix[stack] === NONE) continue;
      calling[0].push(prefix[stack]!);
      calling[1].push(total[index]!);
    }
    return nodesOf(stacks, groupOf, membersOf(...calling), childrenOf);
  };
  const innermost = Array.from(own.keys()).filter((stack) => own[stack]! > 0);
  return nodesOf(
    stacks,
    groupOf,
    membersOf(
      innermost,
      innermost.map((stack) => own[stack]!),
    ),
    childrenOf,
  );
}

/** The nodes of stacks by the groups of their frames. */
function nodesOf(
  { frames, frame }: WeightedStacks,
  groupOf: Int32Array,
  members: Members,
  childrenOf: (members: Members) => CallNode[],
): CallNode[] {
  const byGroup = new Map<number, Members>();
  for (const [index, stack] of members.at.entries()) {
    const group = groupOf[frame[stack]!]!;
    let of = byGroup.get(group);
    if (of === undefined) {
      of = { at: [], total: [], own: [] };
      byGroup.set(group, of);
    }
    of.at.push(stack);
    of.total.push(members.total[index]!);
    of.own.push(members.own[index]!);
  }
  return [...byGroup.values()]
    .map((of) => lazyNode(of, (stack) => frame[stack]!, frames, childrenOf))
    .sort(compareNodes);
}

function lazyNode(
  members: Members,
  frameAt: (stack: number) => number,
  frames: readonly StackFrame[],
  childrenOf: (members: Members) => CallNode[],
): CallNode {
  const byFrame = new Map<number, number>();
  for (const [index, stack] of members.at.entries())
    byFrame.set(frameAt(stack), (byFrame.get(frameAt(stack)) ?? 0) + members.total[index]!);
  const [heaviest] = [...byFrame].reduce((most, one) => (one[1] > most[1] ? one : most));
  let children: CallNode[] | undefined;
  return {
    frame: frames[heaviest]!,
    places: byFrame.size,
    total: sumOf(members.total),
    own: sumOf(members.own),
    get children() {
      children ??= childrenOf(members);
      return children;
    },
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Nodes of equal totals stand in the order of their names and lines, so that runs can be laid side by side. */
function compareNodes(one: CallNode, other: CallNode): number {
  const [a, b] = [one.frame, other.frame];
  return (
    other.total - one.total ||
    compareTexts(a.function, b.function) ||
    compareTexts(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.address ?? 0) - (b.address ?? 0)
  );
}

function compareTexts(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** For each frame the number of its group: its own, or that of all places in its function. */
export function frameGroups(frames: readonly StackFrame[], group: StackGrouping): Int32Array {
  if (group === "site") return Int32Array.from(frames.keys());
  const files = filesOfFunctions(frames);
  const numbers = new Map<string, number>();
  return Int32Array.from(frames, (frame) => {
    const key = functionKey(frame, files);
    let number = numbers.get(key);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(key, number);
    }
    return number;
  });
}

/** Functions of one name in several files are several; a place without a file is in the one that its function has. */
function functionKey(frame: StackFrame, files: ReadonlyMap<string, ReadonlySet<string>>): string {
  if (frame.function === undefined) return `\n${frame.module}\n${frame.address}`;
  const name = nameKey(frame);
  return files.get(name)!.size < 2 ? name : `${name}\n${frame.file}`;
}

function filesOfFunctions(frames: readonly StackFrame[]): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>();
  for (const frame of frames) {
    const name = nameKey(frame);
    if (!files.has(name)) files.set(name, new Set());
    if (frame.file !== undefined) files.get(name)!.add(frame.file);
  }
  return files;
}

function nameKey({ function: name, module, isWord }: StackFrame): string {
  return `${isWord} ${name}\n${module}`;
}
