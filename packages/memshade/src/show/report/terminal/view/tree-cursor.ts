import type { CallNode } from "../../../../explain/call-tree/call-tree.ts";
import type { ViewModel } from "./view-model.ts";
import { allNodes, reveal, type TreeRow, type TreeScreen, treeRows } from "./view-state.ts";

/** Most nodes opened at once. */
const MOST_OPENED = 2000;

export function rowsOf(model: ViewModel, { choice, expanded }: TreeScreen): TreeRow[] {
  return treeRows(model.tree(choice), expanded);
}

export function rowAtCursor(model: ViewModel, screen: TreeScreen): TreeRow | undefined {
  return rowsOf(model, screen)[screen.cursor];
}

export function toggled(model: ViewModel, screen: TreeScreen): TreeScreen {
  const row = rowAtCursor(model, screen);
  if (row === undefined || row.node.children.length === 0) return screen;
  return screen.expanded.has(row.node) ? closed(screen, row.node) : opened(screen, [row.node]);
}

/** Opens the node under the cursor, or moves to its first child. */
export function inwards(model: ViewModel, screen: TreeScreen): TreeScreen {
  const row = rowAtCursor(model, screen);
  if (row === undefined || row.node.children.length === 0) return screen;
  return screen.expanded.has(row.node)
    ? { ...screen, cursor: screen.cursor + 1 }
    : opened(screen, [row.node]);
}

/** Closes the node under the cursor, or moves to its parent. */
export function outwards(model: ViewModel, screen: TreeScreen): TreeScreen {
  const rows = rowsOf(model, screen);
  const row = rows[screen.cursor];
  if (row === undefined) return screen;
  if (screen.expanded.has(row.node)) return closed(screen, row.node);
  const above = rows.findIndex(({ node }) => node === row.parent);
  return above < 0 ? screen : { ...screen, cursor: above };
}

/** Opens all nodes below the cursor, the largest first, up to `MOST_OPENED`. */
export function openedBelow(model: ViewModel, screen: TreeScreen): TreeScreen {
  const row = rowAtCursor(model, screen);
  if (row === undefined) return screen;
  const nodes: CallNode[] = [];
  for (const path of allNodes({ total: 0, paths: 0, roots: [row.node] })) {
    if (nodes.length >= MOST_OPENED) break;
    const node = path.at(-1)!;
    if (node.children.length > 0) nodes.push(node);
  }
  return opened(screen, nodes);
}

/**
 * Moves the cursor to the largest node of the innermost frame of a path; nodes under its caller are
 * preferred. Undefined if no node matches.
 */
export function atPath(
  model: ViewModel,
  screen: TreeScreen,
  path: readonly { readonly function?: string | undefined; readonly line?: number | undefined }[],
): TreeScreen | undefined {
  const tree = model.tree(screen.choice);
  const [own, caller] = path;
  if (own === undefined) return undefined;
  let best: readonly CallNode[] | undefined;
  for (const nodes of allNodes(tree)) {
    const frame = nodes.at(-1)!.frame;
    if (frame.function !== own.function || frame.line !== own.line) continue;
    best ??= nodes;
    if (caller === undefined || nodes.at(-2)?.frame.function !== caller.function) continue;
    best = nodes;
    break;
  }
  return best === undefined ? undefined : { ...screen, ...reveal(tree, screen.expanded, best) };
}

function opened(screen: TreeScreen, nodes: readonly CallNode[]): TreeScreen {
  return { ...screen, expanded: new Set([...screen.expanded, ...nodes]) };
}

function closed(screen: TreeScreen, node: CallNode): TreeScreen {
  const expanded = new Set(screen.expanded);
  expanded.delete(node);
  return { ...screen, expanded };
}
