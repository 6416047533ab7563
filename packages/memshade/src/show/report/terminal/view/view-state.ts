import type { CallNode, CallTree } from "../../../../explain/call-tree/call-tree.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import type { TreeChoice, ViewModel } from "./view-model.ts";

/** A visible node and its depth. */
export interface TreeRow {
  readonly node: CallNode;
  readonly depth: number;
  readonly parent: CallNode | undefined;
}

/** Nodes with at least this part of the total are expanded at first. */
const TELLING_PART = 0.5;
/** Most nodes visited by a search. */
const MOST_NODES = 500_000;

/** Returns the nodes whose ancestors are all expanded, in tree order. */
export function treeRows(tree: CallTree, expanded: ReadonlySet<CallNode>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (nodes: readonly CallNode[], depth: number, parent: CallNode | undefined): void => {
    for (const node of nodes) {
      rows.push({ node, depth, parent });
      if (expanded.has(node)) add(node.children, depth + 1, node);
    }
  };
  add(tree.roots, 0, undefined);
  return rows;
}

function expandedAtFirst({ total, roots }: CallTree): ReadonlySet<CallNode> {
  const expanded = new Set<CallNode>();
  for (let [node] = roots; node !== undefined && node.total >= TELLING_PART * total; [node] = node.children)
    if (node.children.length > 0) expanded.add(node);
  return expanded;
}

/** Yields the path to every node, in the order of a fully expanded tree. */
export function* allNodes({ roots }: CallTree): Generator<readonly CallNode[]> {
  const open: { nodes: readonly CallNode[]; next: number }[] = [{ nodes: roots, next: 0 }];
  const path: CallNode[] = [];
  for (let seen = 0; seen < MOST_NODES; ) {
    const level = open.at(-1);
    if (level === undefined) return;
    const node = level.nodes[level.next++];
    if (node === undefined) {
      open.pop();
      path.pop();
      continue;
    }
    seen++;
    path.push(node);
    yield [...path];
    open.push({ nodes: node.children, next: 0 });
  }
}

/** Expands everything above a node, and returns the row of the node. */
export function reveal(
  tree: CallTree,
  expanded: ReadonlySet<CallNode>,
  path: readonly CallNode[],
): { expanded: ReadonlySet<CallNode>; cursor: number } {
  const allExpanded = new Set([...expanded, ...path.slice(0, -1)]);
  return {
    expanded: allExpanded,
    cursor: treeRows(tree, allExpanded).findIndex(({ node }) => node === path.at(-1)),
  };
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Cursor: the selected row. Top: the first visible row. */
interface Scrolled {
  readonly cursor: number;
  readonly top: number;
}

export interface FindingsScreen extends Scrolled {
  readonly kind: "findings";
}

/**
 * A call path, innermost first, and the source text of the frame under the cursor. `top` scrolls the text.
 */
export interface SourceScreen extends Scrolled {
  readonly kind: "source";
  readonly path: readonly StackFrame[];
  /** Finding of the path; undefined for a path of a tree. */
  readonly finding: number | undefined;
}

export interface TreeScreen extends Scrolled {
  readonly kind: "tree";
  readonly choice: TreeChoice;
  readonly expanded: ReadonlySet<CallNode>;
}

export interface HelpScreen extends Scrolled {
  readonly kind: "help";
}

export type ViewScreen = FindingsScreen | SourceScreen | TreeScreen | HelpScreen;

export interface ViewState {
  /** Stack of screens: the last one is shown. At least one. */
  readonly screens: readonly ViewScreen[];
  readonly typed?: string | undefined;
  /** Last searched pattern. */
  readonly pattern?: string | undefined;
  /** Result of the last key, in words. */
  readonly message?: string | undefined;
  readonly isDone: boolean;
}

/** Returns the first state: the findings, or the tree of the first tool if there are none. */
export function initialState(model: ViewModel): ViewState {
  const first: ViewScreen =
    model.contents.findings.length > 0
      ? { kind: "findings", cursor: 0, top: 0 }
      : treeScreen(model, { tool: 0, metric: 0, isInverted: false });
  return { screens: [first], isDone: false };
}

export function treeScreen(model: ViewModel, choice: TreeChoice): TreeScreen {
  return { kind: "tree", cursor: 0, top: 0, choice, expanded: expandedAtFirst(model.tree(choice)) };
}

export function shownScreen({ screens }: ViewState): ViewScreen {
  return screens.at(-1)!;
}
