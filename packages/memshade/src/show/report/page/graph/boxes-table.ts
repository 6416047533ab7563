import { h, type TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { tableHead } from "../app/parts/table-head.ts";
import type { CallTree } from "./layout/tree.ts";
import type { BoxDescription } from "./picture.ts";

export interface BoxesTableProps {
  tree: CallTree;
  zoomed: number;
  /** Boxes have an amount of their own: not where callers are below. */
  hasOwn: boolean;
  describe(box: number): BoxDescription;
  /** How far the amount of a box may be off. */
  marginOf(box: number): string;
  format(value: number): string;
  share(value: number): string;
  onPick(box: number): void;
}

/** As many rows as are read in a table; what is left out is summed up below it. */
const MOST_ROWS = 200;
/** Parts of the whole that are too small to be told, 1 in so many. */
const SMALLEST_PART = 1000;

/** The boxes of a graph as a table, callers before what they called. */
export function BoxesTable(props: BoxesTableProps) {
  const [isOpen, setIsOpen] = useState(false);
  return h(
    "details",
    {
      class: "graph-table",
      onToggle: (event: TargetedEvent<HTMLDetailsElement>) => setIsOpen(event.currentTarget.open),
    },
    h("summary", null, "The same as a table"),
    isOpen && h(Rows, props),
  );
}

function Rows({ tree, zoomed, hasOwn, describe, marginOf, format, share, onPick }: BoxesTableProps) {
  const { boxes, left } = largestBoxes(tree, zoomed);
  const [own, total] = [tree.own[0], tree.total[0]];
  const row = (box: number) => {
    const { name, place } = describe(box);
    return h(
      "tr",
      { key: box },
      h("td", null, tree.depth[box]),
      h("td", null, h("button", { type: "button", class: "link", onClick: () => onPick(box) }, name)),
      h("td", null, place),
      h("td", null, format(total[box]), marginOf(box)),
      h("td", null, share(total[box])),
      hasOwn && h("td", null, format(own[box])),
    );
  };
  const heads = ["Level", "Box", "Place", "Total", "Share", ...(hasOwn ? ["Own"] : [])];
  return h(
    "table",
    null,
    tableHead(heads),
    h("tbody", null, boxes.map(row)),
    left > 0 &&
      h("caption", null, `${left} smaller boxes are not listed; their amounts are in those above them.`),
  );
}

/** The boxes from one on that have a part worth telling, callers first, and how many there are besides. */
export function largestBoxes(tree: CallTree, from: number): { boxes: number[]; left: number } {
  const total = tree.total[0];
  const waiting = [from];
  let seen = 0;
  const boxes: number[] = [];
  while (waiting.length > 0) {
    const box = waiting.pop()!;
    seen += 1;
    if (boxes.length < MOST_ROWS && total[box] * SMALLEST_PART >= total[from]) boxes.push(box);
    for (let child = tree.childEnd[box] - 1; child >= tree.childStart[box]; child--) waiting.push(child);
  }
  return { boxes, left: seen - boxes.length };
}
