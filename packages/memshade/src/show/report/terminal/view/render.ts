import { formatPercent, plural } from "../../../../profile/model/format.ts";
import { findingInWords, findingLines } from "../../findings.ts";
import { amountFormat } from "../../measure-format.ts";
import type { Paint } from "../common/paint.ts";
import { Screen } from "../common/screen.ts";
import { displayWidth, padLeft, printable, wrapWords } from "../common/text.ts";
import { frameLabel } from "../tree.ts";
import { bodyRows, LEAST, MARK_COLUMNS, pathRows, topFor } from "./layout.ts";
import { fitLine, keyLines, lineWidth } from "./texts.ts";
import { rowsOf } from "./tree-cursor.ts";
import type { ViewModel } from "./view-model.ts";
import {
  type FindingsScreen,
  type HelpScreen,
  type Size,
  type SourceScreen,
  shownScreen,
  type TreeRow,
  type TreeScreen,
  type ViewScreen,
  type ViewState,
} from "./view-state.ts";

/** Lines of a screen: its title in two parts, the heads of its columns, and the visible rows. */
export interface Rendered {
  readonly left: string;
  readonly right: string;
  readonly heads: string;
  readonly body: readonly string[];
  /** Most useful keys of this screen. */
  readonly keys: string;
  /** The screen, scrolled to show its cursor. */
  readonly screen: ViewScreen;
}

/**
 * Renders exactly as many lines as the terminal has rows, none wider than the terminal. The returned state
 * includes the scrolled screen.
 */
export function render(
  model: ViewModel,
  state: ViewState,
  size: Size,
  paint: Paint,
): { readonly lines: readonly string[]; readonly state: ViewState } {
  const { columns, rows } = size;
  if (columns < LEAST.columns || rows < LEAST.rows) {
    const lines = Array.from({ length: rows }, (_, row) => (row === 0 ? fitLine("too small", columns) : ""));
    return { lines, state };
  }
  const { left, right, heads, body, keys, screen } = renderScreen(model, shownScreen(state), size, paint);
  const padded = Array.from({ length: rows - 3 }, (_, row) => body[row] ?? "");
  const lines = [
    title(left, right, size, paint),
    paint.faint(heads),
    ...padded,
    bottom(state, keys, size, paint),
  ];
  return {
    lines: lines.map((line) => fitLine(line, columns)),
    state: { ...state, screens: [...state.screens.slice(0, -1), screen] },
  };
}

function renderScreen(model: ViewModel, screen: ViewScreen, size: Size, paint: Paint): Rendered {
  switch (screen.kind) {
    case "findings":
      return renderFindings(model, screen, size, paint);
    case "source":
      return renderSource(model, screen, size, paint);
    case "tree":
      return renderTree(model, screen, size, paint);
    case "help":
      return renderHelp(screen, size, paint);
  }
}

function title(left: string, right: string, { columns }: Size, paint: Paint): string {
  const gap = columns - lineWidth(left) - lineWidth(right);
  return gap < 2 ? paint.strong(left) : paint.strong(left) + " ".repeat(gap) + right;
}

/** Formats the last line: the typed pattern, else the message, else the keys. */
function bottom({ typed, message }: ViewState, keys: string, { columns }: Size, paint: Paint): string {
  if (typed !== undefined) return `/${printable(typed)}`;
  return message === undefined ? paint.faint(fittingKeys(keys, columns)) : paint.warning(printable(message));
}

/** Returns the keys that fit. The last two, which lead to the help and out, are dropped last of all. */
function fittingKeys(keys: string, columns: number): string {
  const each = keys.split("  ");
  const last = each.splice(-2);
  while (each.length > 0 && lineWidth([...each, ...last].join("  ")) > columns) each.pop();
  return [...each, ...last].join("  ");
}

/** Wraps a sentence that is shown in place of rows. */
export function indented(sentence: string, { columns }: Size): string[] {
  return wrapWords(sentence, columns - 2).map((line) => `  ${line}`);
}

/** Formats a row. The selected row gets a mark, so that it is recognizable without colours. */
export function markedRow(text: string, isSelected: boolean, { columns }: Size, paint: Paint): string {
  const line = fitLine(`${isSelected ? ">" : " "} ${text}`, columns);
  if (!isSelected) return line;
  return paint.selected(line + " ".repeat(Math.max(0, columns - lineWidth(line))));
}

const NUMBER = 10;
const SHARE = 8;
/** Least columns of a name at any depth. */
const LEAST_LABEL = 24;
/** Least columns for own amounts; with fewer, a tree shows totals only. */
const ROOM_FOR_OWN = 70;
const TOOLS = {
  heap: "Heap",
  waste: "Waste",
  workingset: "Working set",
  objects: "Objects",
  statics: "Static data",
  samples: "Samples",
} as const;

export function renderTree(model: ViewModel, screen: TreeScreen, size: Size, paint: Paint): Rendered {
  const { choice } = screen;
  const tree = model.tree(choice);
  const metric = model.metric(choice);
  const format = amountFormat(metric.unit);
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
    const room = size.columns - MARK_COLUMNS - NUMBER - SHARE - (hasOwn ? NUMBER : 0) - 2;
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
  const nothing = `Nothing was counted: no call path has ${metric.title}. s changes the measure`;
  const shown = rows.length > 0 ? body : indented(nothing, size);
  return {
    left: `${TOOLS[model.stacks(choice).tool]} ${direction} ${metric.title}`,
    right: `${format(tree.total)} in ${plural(tree.paths, "call path")}`,
    heads: `${" ".repeat(MARK_COLUMNS)}${padLeft("TOTAL", NUMBER)}${padLeft("SHARE", SHARE)}${own("OWN")}  ${choice.isInverted ? "PLACE, THEN WHO CALLED IT" : "PLACE"}`,
    body: [...shown, ...gapLines(model.stacks(choice).gaps, height - shown.length, size, paint)],
    keys: "Enter open  s weight  t tool  i invert  a source  f findings  ? help  q quit",
    screen: { ...screen, cursor, top },
  };
}

/** Returns two columns per level, or the number of levels if the margin is too wide. */
function marginOf(depth: number, room: number): string {
  const margin = "  ".repeat(depth);
  if (depth === 0 || margin.length <= room) return margin;
  const mark = `…${depth} `;
  return " ".repeat(Math.max(0, room - mark.length)) + mark;
}

export function renderFindings(model: ViewModel, screen: FindingsScreen, size: Size, paint: Paint): Rendered {
  const { findings, input, stacks } = model.contents;
  const height = bodyRows(size);
  const top = topFor(screen.top, screen.cursor, height, findings.length);
  const wide = new Screen({ paint, width: size.columns, isWide: false });
  const lines = findings.length === 0 ? [] : findingLines(wide, findings, size.columns - MARK_COLUMNS);
  return {
    left: `Findings of ${printable(input)}`,
    right: plural(findings.length, "finding"),
    heads: "  amount saved by the fix, and where",
    body: [
      ...lines
        .slice(top, top + height)
        .map((line, row) => markedRow(line, top + row === screen.cursor, size, paint)),
      ...gapLines(
        stacks.flatMap(({ gaps }) => gaps),
        height - lines.length,
        size,
        paint,
      ),
    ],
    keys: "Enter source  t call tree  / search  ? help  q quit",
    screen: { ...screen, top },
  };
}

/**
 * Renders the call path, innermost frame first, and below it the source text around the line of the frame
 * under the cursor.
 */
export function renderSource(model: ViewModel, screen: SourceScreen, size: Size, paint: Paint): Rendered {
  const { findings } = model.contents;
  const finding = screen.finding === undefined ? undefined : findings[screen.finding];
  const pathHeight = pathRows(size, screen.path.length);
  const first = topFor(0, screen.cursor, pathHeight, screen.path.length);
  const frames = screen.path.slice(first, first + pathHeight).map((frame, row) => {
    const lead = first + row === 0 ? "" : "← ";
    const { name, place } = frameLabel(frame, size.columns - MARK_COLUMNS - lead.length);
    const text = `${paint.faint(lead)}${paint.strong(name)}${paint.faint(place)}`;
    return markedRow(text, first + row === screen.cursor, size, paint);
  });
  const rest = bodyRows(size) - frames.length - 1;
  const { lines, top, file } = sourceLines(model, screen, { ...size, rows: rest }, paint);
  const rule = paint.faint(`── ${file} ${"─".repeat(Math.max(0, size.columns - displayWidth(file) - 4))}`);
  return {
    left: finding === undefined ? "Source" : printable(`${finding.kind}: ${findingInWords(finding)}`),
    right: "",
    heads: finding === undefined ? "  WHERE IT IS, AND WHO CALLED THAT" : "  WHERE, AND WHO CALLED THAT",
    body: [...frames, ...(rest < 1 ? [] : [rule, ...lines])],
    keys:
      finding === undefined
        ? "Esc back to the tree  ? help  q quit"
        : "Enter call tree  Esc back  ? help  q quit",
    screen: { ...screen, top },
  };
}

interface SourceLines {
  readonly lines: readonly string[];
  /** Lines by which the text is scrolled, limited to what is possible. */
  readonly top: number;
  readonly file: string;
}

function sourceLines(model: ViewModel, screen: SourceScreen, size: Size, paint: Paint): SourceLines {
  const height = size.rows;
  const { file, line } = screen.path[screen.cursor] ?? {};
  if (file === undefined)
    return { lines: indented("the source file of this code is not known", size), top: 0, file: "no source" };
  const name = printable(file);
  const text = model.contents.readSource(file);
  if (text === undefined || line === undefined)
    return {
      lines: indented(
        text === undefined
          ? "the file was not found: --path-map FROM=TO finds it"
          : "the source line of this code is not known",
        size,
      ),
      top: 0,
      file: name,
    };
  const last = Math.max(0, text.length - height);
  const within = (row: number) => Math.max(0, Math.min(row, last));
  const start = within(line - 1 - Math.floor(height / 2));
  const from = within(start + screen.top);
  const width = String(text.length).length;
  const lines = text.slice(from, from + height).map((source, row) => {
    const number = from + row + 1;
    const shown = printable(source.replaceAll("\t", "  "));
    const mark = number === line ? "→ " : "  ";
    return `${mark}${paint.faint(`${padLeft(String(number), width)} │ `)}${number === line ? paint.amount(shown) : shown}`;
  });
  return { lines, top: from - start, file: name };
}

export function renderHelp(screen: HelpScreen, size: Size, paint: Paint): Rendered {
  const height = bodyRows(size);
  const lines = keyLines(size);
  const top = topFor(screen.top, screen.cursor, height, lines.length);
  return {
    left: "Keys",
    right: "",
    heads: "",
    body: lines
      .slice(top, top + height)
      .map((line, row) => markedRow(line, top + row === screen.cursor, size, paint)),
    keys: "q back",
    screen: { ...screen, top },
  };
}

/**
 * Returns what the figures do not cover, for the space below the rows. If the space is too small, a line
 * names the report that prints it.
 */
export function gapLines(gaps: readonly string[], room: number, { columns }: Size, paint: Paint): string[] {
  const sentences = [...new Set(gaps)];
  if (sentences.length === 0 || room < 2) return [];
  const lines = sentences.flatMap((gap) =>
    wrapWords(printable(gap), columns - 4).map((line, row) => (row === 0 ? "  · " : "    ") + line),
  );
  const allLines = ["", "! Read this first", ...lines];
  const shown = allLines.length <= room ? allLines : ["", "! Figures have gaps: memshade report"];
  return shown.map((line) => paint.warning(line));
}
