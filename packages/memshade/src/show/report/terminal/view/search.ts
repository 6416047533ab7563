import type { CallNode } from "../../../../explain/call-tree/call-tree.ts";
import { findingText, frameText } from "./texts.ts";
import { rowAtCursor } from "./tree-cursor.ts";
import { allNodes, reveal } from "./tree-rows.ts";
import type { ViewModel } from "./view-model.ts";
import type { TreeScreen, ViewScreen } from "./view-state.ts";

type Direction = 1 | -1;

/** The screen with the cursor on the next place that has the pattern in it, round the end; undefined if none has. */
export function searched<Screen extends ViewScreen>(
  model: ViewModel,
  screen: Screen,
  pattern: string,
  direction: Direction,
): ViewScreen | undefined {
  const matches = matcherOf(pattern);
  switch (screen.kind) {
    case "findings": {
      const texts = model.contents.findings.map(findingText);
      return withCursor(screen, nextOf(texts.map(matches), screen.cursor, direction));
    }
    case "source":
      return withCursor(
        screen,
        nextOf(
          screen.path.map((frame) => matches(frameText(frame))),
          screen.cursor,
          direction,
        ),
      );
    case "tree":
      return searchedTree(model, screen, matches, direction);
    case "help":
      return undefined;
    default:
      throw new RangeError(`no such screen: ${screen satisfies never}`);
  }
}

/** As in less with -i: a pattern with a capital letter in it is meant as it stands. */
export function matcherOf(pattern: string): (text: string) => boolean {
  if (pattern !== pattern.toLowerCase()) return (text) => text.includes(pattern);
  return (text) => text.toLowerCase().includes(pattern);
}

function withCursor(screen: ViewScreen, cursor: number | undefined): ViewScreen | undefined {
  return cursor === undefined ? undefined : { ...screen, cursor };
}

function nextOf(matches: readonly boolean[], from: number, direction: Direction): number | undefined {
  const { length } = matches;
  for (let step = 1; step <= length; step++) {
    const at = (from + direction * step + length * step) % length;
    if (matches[at]) return at;
  }
  return undefined;
}

/** Nodes are looked for in closed parts of the tree too. */
function searchedTree(
  model: ViewModel,
  screen: TreeScreen,
  matches: (text: string) => boolean,
  direction: Direction,
): TreeScreen | undefined {
  const tree = model.tree(screen.choice);
  const current = rowAtCursor(model, screen)?.node;
  let first: readonly CallNode[] | undefined;
  let before: readonly CallNode[] | undefined;
  let after: readonly CallNode[] | undefined;
  let last: readonly CallNode[] | undefined;
  let isBehind = false;
  for (const path of allNodes(tree)) {
    const node = path.at(-1)!;
    if (node === current) {
      isBehind = true;
      if (direction === -1 && before !== undefined) break;
    }
    if (!matches(frameText(node.frame))) continue;
    first ??= path;
    last = path;
    if (!isBehind) before = path;
    else if (node !== current) {
      after = path;
      if (direction === 1) break;
    }
  }
  const found = direction === 1 ? (after ?? first) : (before ?? last);
  return found === undefined ? undefined : { ...screen, ...reveal(tree, screen.expanded, found) };
}
