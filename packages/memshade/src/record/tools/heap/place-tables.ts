import { roundUp } from "../../../ground/bytes/sizes.ts";
import {
  CHANGE_BYTES,
  CHANGES_PER_CONTEXT,
  CHILD_BYTES,
  CONTEXT_BYTES,
  DRAG_BYTES,
  FOLLOWED_BYTES,
  GROWTH_BYTES,
  INTERVAL_BYTES,
  MOST_FOLLOWED,
  MOST_INTERVALS,
  NODE_BYTES,
  PAST_BYTES,
  SHAPE_BYTES,
  SHAPE_COUNT,
} from "./layout.ts";

/** Average number of calls of a path that no other path shares. */
const NODES_PER_CONTEXT = 8;

function powerOfTwoAbove(value: number): number {
  return 2 ** Math.ceil(Math.log2(value));
}

/**
 * Places the tables that do not depend on the program's memory, in a row from `shapes` on.
 * `contexts`: entries of the block table, overflow included.
 * `tablesEnd`: offset after the last table.
 */
export function placeTables(shapes: number, contexts: number) {
  const nodeCapacity = contexts * NODES_PER_CONTEXT;
  const childCapacity = powerOfTwoAbove(nodeCapacity);
  const mibs = shapes + SHAPE_COUNT * SHAPE_BYTES;
  const growths = mibs + contexts * CONTEXT_BYTES;
  const pasts = growths + contexts * GROWTH_BYTES;
  const drags = pasts + contexts * PAST_BYTES;
  const followed = drags + contexts * DRAG_BYTES;
  const intervals = followed + MOST_FOLLOWED * FOLLOWED_BYTES;
  const changes = intervals + MOST_INTERVALS * INTERVAL_BYTES;
  const changeCapacity = contexts * CHANGES_PER_CONTEXT;
  const nodes = changes + changeCapacity * CHANGE_BYTES;
  const children = roundUp(nodes + nodeCapacity * NODE_BYTES, CHILD_BYTES);
  return {
    shapes,
    mibs,
    mibCapacity: contexts,
    pasts,
    drags,
    followed,
    intervals,
    changes,
    changeCapacity,
    growths,
    nodes,
    nodeCapacity,
    children,
    childCapacity,
    tablesEnd: children + 2 * childCapacity * CHILD_BYTES,
  };
}
