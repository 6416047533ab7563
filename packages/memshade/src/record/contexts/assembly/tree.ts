// The calling context tree: nodes are reached from their parent by a place that calls.
import { NODE_CAPACITY, NODE_NEXT, NODES } from "./imports";
import { find, insert, isKnown, valueAt } from "./index-table";
import { IndexKind, NODE_BYTES, NOWHERE, Node } from "./layout.generated";

/**
 * The node of place `place` called from `parent`, 0 being the root; `NOWHERE` when the tables are full. A place that is on the path
 * already stands for itself.
 */
export function childOf(parent: u32, place: u32): u32 {
  const at = find(parent, place, IndexKind.child);
  if (isKnown(at)) return valueAt(at);
  let node = findOnPath(parent, place);
  if (node === 0) {
    node = load<u32>(NODE_NEXT) + 1;
    if (node >= NODE_CAPACITY || at === 0) return NOWHERE;
    store<u32>(NODE_NEXT, node);
    store<u32>(NODES + node * NODE_BYTES, parent, Node.parent);
    store<u32>(NODES + node * NODE_BYTES, place, Node.place);
  }
  if (at !== 0) insert(at, parent, place, IndexKind.child, node);
  return node;
}

/** The node of a place on the path to `node`, 0 if it is not there. */
function findOnPath(node: u32, place: u32): u32 {
  while (node !== 0 && load<u32>(NODES + node * NODE_BYTES, Node.place) !== place)
    node = load<u32>(NODES + node * NODE_BYTES, Node.parent);
  return node;
}
