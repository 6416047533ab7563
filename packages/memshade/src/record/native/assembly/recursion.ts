// Where the call paths of a program are very many, it is recursion that makes them so: functions that call each other in a circle, in
// any order, have a path for each order. From there on new paths have of such a circle only the call that entered it and the call that
// left it, as those of WebAssembly modules have always. Paths that are known stay what they are.
//
// Which calls are inside of a circle shows when one of them comes again: so do all that stand between.
import { CONTROL, NODES } from "../../tools/heap/assembly/imports";
import { Control, Node } from "../../tools/heap/assembly/layout.generated";
import { childOf, findChild, findOnPath, insertChild, hasChildRoom } from "../../tools/heap/assembly/tree";
import { Header } from "./layout.generated";

/** Calls on paths from which on they are very many; programs that nobody wrote for that have some ten thousand. */
const VERY_MANY: u32 = 1 << 16;
/** Calls inside of a circle are kept among the children, as those of no node. */
const INSIDE: u32 = 1;

@inline
export function areVeryMany(): bool {
  return load<u32>(CONTROL, Control.nodeNext) >= VERY_MANY;
}

function isInside(site: u32): bool {
  return findChild(INSIDE, site) !== 0;
}

/** All calls from `node` up to the one that has come again. */
function markCircle(node: u32, again: u32): void {
  for (; ; node = load<u32>(node, Node.parent)) {
    const site = load<u32>(node, Node.site);
    if (!isInside(site) && hasChildRoom()) {
      insertChild(INSIDE, site, INSIDE);
      store<u32>(Header.foldedCalls, load<u32>(Header.foldedCalls) + 1);
    }
    if (node === again) return;
  }
}

/** The node of the call that entered the circle which `node` is inside of; itself where it is in none. */
function entryOf(node: u32): u32 {
  while (isInside(load<u32>(node, Node.site))) {
    const parent = load<u32>(node, Node.parent);
    if (parent === NODES) break;
    node = parent;
  }
  return node;
}

/** The tree node of `site` called from `parent`, where paths are very many; 0 when the table is full. */
export function foldedChildOf(parent: u32, site: u32): u32 {
  const known = findChild(parent, site);
  if (known !== 0 || parent === NODES) return childOf(parent, site);
  if (!isInside(site)) {
    const again = findOnPath(parent, site);
    if (again !== 0) markCircle(parent, again);
  }
  const entry = entryOf(parent);
  return isInside(site) ? entry : childOf(entry, site);
}
