// Bounds the number of call paths. If a program has very many, recursion causes them: functions that call
// each other in a circle have a path for each order.
// From then on, a new path contains only the call that entered a circle and the call that left it, as for
// WebAssembly modules. Existing paths do not change.
// A circle is found when one of its calls occurs again on a path: all calls in between are inside the circle.
import { CONTROL, NODES } from "../../tools/heap/assembly/imports";
import { Control, Node } from "../../tools/heap/assembly/layout.generated";
import { childOf, findChild, findOnPath, insertChild, hasChildRoom } from "../../tools/heap/assembly/tree";
import { Header } from "./layout.generated";

/**
 * Number of nodes from which on paths are very many. Programs without such recursion have some ten thousand.
 */
const VERY_MANY: u32 = 1 << 16;
/** Parent number under which the child table stores the sites inside circles; it is the number of no node. */
const INSIDE: u32 = 1;

@inline
export function areVeryMany(): bool {
  return load<u32>(CONTROL, Control.nodeNext) >= VERY_MANY;
}

function isInside(site: u32): bool {
  return findChild(INSIDE, site) !== 0;
}

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

/** Returns the node of the call that entered the circle of `node`, or `node` if it is in none. */
function entryOf(node: u32): u32 {
  while (isInside(load<u32>(node, Node.site))) {
    const parent = load<u32>(node, Node.parent);
    if (parent === NODES) break;
    node = parent;
  }
  return node;
}

/** Returns the node of `site` called from `parent` with circles left out; 0 if the table is full. */
export function foldedChildOf(parent: u32, site: u32): u32 {
  const child = findChild(parent, site);
  if (child !== 0 || parent === NODES) return childOf(parent, site);
  if (!isInside(site)) {
    const again = findOnPath(parent, site);
    if (again !== 0) markCircle(parent, again);
  }
  const entry = entryOf(parent);
  return isInside(site) ? entry : childOf(entry, site);
}
