import fc from "fast-check";
import {
  type ContextColumns,
  foldContexts,
} from "../../../../../src/show/report/page/graph/layout/box-finder.ts";
import type { CallTree } from "../../../../../src/show/report/page/graph/layout/tree.ts";
import { baseTree } from "../../../../../src/show/report/page/graph/use-graph.ts";

/** Contexts with the value of each; there are few frames, so that equal frames meet and functions call themselves. */
export interface Drawn extends ContextColumns {
  own: Float64Array;
}

export const FRAMES = 6;

export const contexts: fc.Arbitrary<Drawn> = fc
  .array(
    fc.record({ up: fc.nat(), frame: fc.nat(FRAMES - 1), own: fc.oneof(fc.constant(0), fc.nat(1000)) }),
    { minLength: 1, maxLength: 60 },
  )
  .map((rows) => ({
    // Any earlier context, or none.
    parent: Int32Array.from(rows, ({ up }, row) => (up % (row + 1)) - 1),
    frame: Int32Array.from(rows, ({ frame }) => frame),
    own: Float64Array.from(rows, ({ own }) => own),
  }));

export const ALONE = Int32Array.from({ length: FRAMES }, (_, frame) => frame);

export function treeOf(
  drawn: Drawn,
  rules: { isFolded?: Uint8Array; isRemoved?: Uint8Array } = {},
): CallTree {
  return baseTree(foldContexts(drawn, { groupOf: ALONE, ...rules }), drawn.own).tree;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** A tree as text: one line per box with its own value and its total, indented by depth; `f3` is frame 3. */
export function textOf(tree: CallTree): string[] {
  const lines: string[] = [];
  const visit = (box: number) => {
    const name = box === 0 ? "all" : `f${tree.frame[box]}`;
    lines.push(`${"  ".repeat(tree.depth[box])}${name} ${tree.own[0][box]}/${tree.total[0][box]}`);
    for (let child = tree.childStart[box]; child < tree.childEnd[box]; child++) visit(child);
  };
  visit(0);
  return lines;
}

/** Contexts from paths: `[[0, 1, 2], 40]` is frame 2 called by 1 called by 0, with an own value of 40. */
export function fromPaths(paths: readonly (readonly [path: readonly number[], own: number])[]): Drawn {
  const found = new Map<string, number>();
  const rows: { parent: number; frame: number; own: number }[] = [];
  for (const [path, own] of paths) {
    let parent = -1;
    for (const frame of path) {
      const key = `${parent} ${frame}`;
      if (!found.has(key)) found.set(key, rows.push({ parent, frame, own: 0 }) - 1);
      parent = found.get(key)!;
    }
    rows[parent].own += own;
  }
  return {
    parent: Int32Array.from(rows, (row) => row.parent),
    frame: Int32Array.from(rows, (row) => row.frame),
    own: Float64Array.from(rows, (row) => row.own),
  };
}
