import { entryOf } from "../../ground/bytes/entries.ts";
import { sum } from "../../ground/bytes/numbers.ts";
import { NONE } from "../../profile/model/indices.ts";
import type { StackFrame } from "../measures/measured-stacks.ts";
import type { StackGrouping, WeightedStacks } from "./weighted-stacks.ts";

export interface CallTreeOptions {
  readonly metric: number;
  readonly group: StackGrouping;
  /** True if the tree goes from the innermost frames to their callers. */
  readonly isInverted: boolean;
}

/** Place or function with its callees: `total` is the sum of `own` and the totals of all children. */
export interface CallNode {
  readonly frame: StackFrame;
  readonly places: number;
  readonly total: number;
  /** Sum of the paths that end here: at their innermost frame, in an inverted tree at their outermost one. */
  readonly own: number;
  /** Callees, in an inverted tree callers; the largest total first. They are computed on first access. */
  readonly children: readonly CallNode[];
}

export interface CallTree {
  readonly total: number;
  readonly paths: number;
  readonly roots: readonly CallNode[];
}

const NO_PATH: StackFrame = { function: "no call path", isWord: true };

/** Builds the tree of all paths with a value of a metric. Sums of whole numbers are exact. */
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

/** Stacks of one node, with the total of each and its part of paths that end there. */
interface Members {
  readonly at: number[];
  readonly total: number[];
  readonly own: number[];
}

function topDownRoots(stacks: WeightedStacks, groupOf: Int32Array, own: Float64Array): CallNode[] {
  const { prefix } = stacks;
  const total = own.slice();
  // Callers precede callees.
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

function nodesOf(
  { frames, frame }: WeightedStacks,
  groupOf: Int32Array,
  members: Members,
  childrenOf: (members: Members) => CallNode[],
): CallNode[] {
  const byGroup = new Map<number, Members>();
  for (const [index, stack] of members.at.entries()) {
    const group = groupOf[frame[stack]!]!;
    const groupMembers = entryOf(byGroup, group, () => ({ at: [], total: [], own: [] }));
    groupMembers.at.push(stack);
    groupMembers.total.push(members.total[index]!);
    groupMembers.own.push(members.own[index]!);
  }
  return [...byGroup.values()]
    .map((groupMembers) => lazyNode(groupMembers, (stack) => frame[stack]!, frames, childrenOf))
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
  const [heaviest] = [...byFrame].reduce((most, entry) => (entry[1] > most[1] ? entry : most));
  let children: CallNode[] | undefined;
  return {
    frame: frames[heaviest]!,
    places: byFrame.size,
    total: sum(members.total),
    own: sum(members.own),
    get children() {
      children ??= childrenOf(members);
      return children;
    },
  };
}

/** Orders nodes of equal totals by names and lines, so that runs can be compared side by side. */
function compareNodes(nodeA: CallNode, nodeB: CallNode): number {
  const [a, b] = [nodeA.frame, nodeB.frame];
  return (
    nodeB.total - nodeA.total ||
    compareTexts(a.function, b.function) ||
    compareTexts(a.file, b.file) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.address ?? 0) - (b.address ?? 0)
  );
}

function compareTexts(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the group number of each frame: its own, or that of all places in its function. */
export function frameGroups(frames: readonly StackFrame[], group: StackGrouping): Int32Array {
  if (group === "site") return Int32Array.from(frames.keys());
  const files = filesOfFunctions(frames);
  const numbers = new Map<string, number>();
  return Int32Array.from(frames, (frame) => {
    const key = functionKey(frame, files);
    return entryOf(numbers, key, () => numbers.size);
  });
}

/**
 * Returns the key of a function. Equal names in several files are several functions; a place without a file belongs to
 * the only file of its name.
 */
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
