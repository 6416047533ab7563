import { formatPercent, plural } from "../../format.ts";
import type { Paint } from "../common/paint.ts";
import { displayWidth, padLeft } from "../common/text.ts";
import { frameLabel } from "../tree/frame-label.ts";
import { stackFormat } from "../tree/stack-format.ts";
import { bodyRows, topFor } from "./layout.ts";
import { indented, markedRow, type Rendered } from "./render.ts";
import { gapLines } from "./render-gaps.ts";
import { rowsOf } from "./tree-cursor.ts";
import type { TreeRow } from "./tree-rows.ts";
import type { ViewModel } from "./view-model.ts";
import type { Size, TreeScreen } from "./view-state.ts";

const NUMBER = 10;
const SHARE = 8;
const MARK = 2;
/** Room that a name is left with, however deep it stands. */
const LEAST_LABEL = 24;
/** With less, a tree has its totals alone. */
const ROOM_FOR_OWN = 70;
const TOOLS = {
  heap: "Heap",
  waste: "Waste",
  workingset: "Working set",
  objects: "Objects",
  samples: "Samples",
} as const;

export function renderTree(model: ViewModel, screen: TreeScreen, size: Size, paint: Paint): Rendered {
  const { choice } = screen;
  const tree = model.tree(choice);
  const metric = model.metric(choice);
  const format = stackFormat(metric);
  const rows = rowsOf(model, screen);
  const height = bodyRows(size);
  const cursor = Math.max(0, Math.min(screen.cursor, rows.length - 1));
  const top = topFor(screen.top, cursor, height, rows.length);
  const hasOwn = !choice.isInverted && size.columns >= ROOM_FOR_OWN;
  const own = (text: string) => (hasOwn ? padLeft(text, NUMBER) : "");
  const line = ({ node, depth }: TreeRow): string => {
    const cells =
      paint.amount(padLeft(format(node.total), NUMBER)) +
      padLeft(formatPercent(node.total, tree.total), SHARE) +
      own(node.own === 0 ? "·" : format(node.own));
    const room = size.columns - MARK - NUMBER - SHARE - (hasOwn ? NUMBER : 0) - 2;
    const sign = node.children.length === 0 ? "  " : screen.expanded.has(node) ? "▾ " : "▸ ";
    const margin = marginOf(depth, room - LEAST_LABEL);
    const { name, place } = frameLabel(node.frame, Math.max(1, room - displayWidth(margin) - 2));
    const isOwn = node.frame.library === undefined && node.frame.isWord !== true;
    return `${cells}  ${paint.faint(margin + sign)}${isOwn ? paint.strong(name) : name}${paint.faint(place)}`;
  };
  const direction = choice.isInverted ? "callers by" : "by";
  const body = rows
    .slice(top, top + height)
    .map((row, index) => markedRow(line(row), top + index === cursor, size, paint));
  const nothing = `Nothing was counted: no call path has ${metric.title}. s weighs by another figure`;
  const shown = rows.length > 0 ? body : indented(nothing, size);
  return {
    left: `${TOOLS[model.stacks(choice).tool]} ${direction} ${metric.title}`,
    right: `${format(tree.total)} in ${plural(tree.paths, "call path")}`,
    heads: `${" ".repeat(MARK)}${padLeft("TOTAL", NUMBER)}${padLeft("SHARE", SHARE)}${own("OWN")}  ${choice.isInverted ? "PLACE, THEN WHO CALLED IT" : "PLACE"}`,
    body: [...shown, ...gapLines(model.stacks(choice).gaps, height - shown.length, size, paint)],
    keys: "Enter open  s weight  t tool  i invert  a source  f findings  ? help  q quit",
    screen: { ...screen, cursor, top },
  };
}

/** Two columns a level, or the number of levels where these take too much. */
function marginOf(depth: number, room: number): string {
  const margin = "  ".repeat(depth);
  if (depth === 0 || margin.length <= room) return margin;
  const mark = `…${depth} `;
  return " ".repeat(Math.max(0, room - mark.length)) + mark;
}
