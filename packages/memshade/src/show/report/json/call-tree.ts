import type { CallNode, CallTree } from "../../../explain/call-tree/call-tree.ts";
import type { StackGrouping, StackMetric } from "../../../explain/call-tree/weighted-stacks.ts";
import type { StackFrame } from "../../../explain/measures/measured-stacks.ts";
import { jsonText } from "./text.ts";

export const TREE_SCHEMA = "memshade-tree";
export const TREE_VERSION = 2;

export interface CallTreeJsonOptions {
  readonly input: string;
  readonly tool: string;
  readonly metric: StackMetric;
  readonly group: StackGrouping;
  readonly isInverted: boolean;
  readonly depth?: number | undefined;
  /** Least part of the total, 0…1. */
  readonly least: number;
  readonly gaps: readonly string[];
}

/** Call tree, or the tree of callers. */
interface TreeJson {
  /** Name and version of the format. */
  schema: typeof TREE_SCHEMA;
  version: typeof TREE_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Tool: "heap", "waste", "workingset", "objects", or "samples" of native stacks. */
  tool: string;
  /** Word of the [measure](glossary.md#measures). */
  by: string;
  /** Unit of all values: that of the measure; of samples "count" or "nanoseconds". */
  unit: string;
  /** Kind of the nodes: a "site" (a line of a function), or a "function". */
  group: StackGrouping;
  /** True if the roots are the locations themselves, with their callers below. */
  inverted: boolean;
  /** Total of all roots. */
  total: number;
  /** Number of call paths with a value. */
  paths: number;
  /** Sentences about everything that the profile does not cover. */
  notTracked: readonly string[];
  /** Roots, the largest total first. */
  roots: readonly JsonNode[];
  /** Roots left out by `--min`; absent: none. */
  omitted: JsonNode["omitted"];
}

/**
 * Node of a tree. Its `total` is exactly `own` and the totals of its `children`, including the omitted ones.
 */
interface JsonNode extends Partial<Omit<StackFrame, "isWord">> {
  /** Replaces the function for nodes that are no code of their own: "the C library", "static data", "no call path". */
  word?: string | undefined;
  /** Number of locations in the node. */
  places: number;
  /** Amount with the children, and without them. */
  total: number;
  own: number;
  /** Callees, or callers if inverted; the largest total first. */
  children: JsonNode[];
  /** Nodes left out of `children` by `--depth` or `--min`. */
  omitted?: { nodes: number; total: number } | undefined;
}

/** Formats a call tree as JSON (docs/report-json.md). */
export function callTreeJson(tree: CallTree, options: CallTreeJsonOptions): string {
  const { input, tool, metric, group, isInverted, gaps, depth = Number.POSITIVE_INFINITY } = options;
  const least = options.least * tree.total;
  const { roots, omitted } = nodesJson(tree.roots, least, depth);
  const document: TreeJson = {
    schema: TREE_SCHEMA,
    version: TREE_VERSION,
    input,
    tool,
    by: metric.key,
    unit: metric.unit,
    group,
    inverted: isInverted,
    total: tree.total,
    paths: tree.paths,
    notTracked: gaps,
    roots,
    omitted,
  };
  return jsonText(document);
}

function nodesJson(
  nodes: readonly CallNode[],
  least: number,
  depth: number,
): { roots: JsonNode[]; omitted: JsonNode["omitted"] } {
  const shown = nodes.filter(({ total }) => total >= least);
  const rest = nodes.slice(shown.length);
  return { roots: shown.map((node) => nodeJson(node, least, depth)), omitted: omittedOf(rest) };
}

function nodeJson(node: CallNode, least: number, depth: number): JsonNode {
  const { frame, places, total, own, children } = node;
  const inside =
    depth <= 0 ? { roots: [], omitted: omittedOf(children) } : nodesJson(children, least, depth - 1);
  return {
    ...(frame.isWord === true ? { word: frame.function } : { function: frame.function }),
    ...positionJson(frame),
    places,
    total,
    own,
    children: inside.roots,
    omitted: inside.omitted,
  };
}

function omittedOf(nodes: readonly CallNode[]): JsonNode["omitted"] {
  if (nodes.length === 0) return undefined;
  return { nodes: nodes.length, total: nodes.reduce((sum, { total }) => sum + total, 0) };
}

export function positionJson(frame: StackFrame) {
  const { module, file, line, startLine, inlined, address, library } = frame;
  return { module, file, line, startLine, inlined, address, library };
}
