import type { Paint } from "../common/paint.ts";
import { printable, wrapWords } from "../common/text.ts";
import { LEAST } from "./layout.ts";
import { renderFindings } from "./render-findings.ts";
import { renderHelp } from "./render-help.ts";
import { renderSource } from "./render-source.ts";
import { renderTree } from "./render-tree.ts";
import { fitLine, lineWidth } from "./texts.ts";
import type { ViewModel } from "./view-model.ts";
import { type Size, shownScreen, type ViewScreen, type ViewState } from "./view-state.ts";

/** A screen's lines: its title in two parts, the heads of its columns, and the rows that are seen. */
export interface Rendered {
  readonly left: string;
  readonly right: string;
  readonly heads: string;
  readonly body: readonly string[];
  /** The keys that do most here. */
  readonly keys: string;
  /** The screen as it was scrolled to show its cursor. */
  readonly screen: ViewScreen;
}

/** The lines of a terminal, exactly as many as it has rows, none wider than it; and the state with what was scrolled. */
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
    default:
      throw new RangeError(`no such screen: ${screen satisfies never}`);
  }
}

function title(left: string, right: string, { columns }: Size, paint: Paint): string {
  const gap = columns - lineWidth(left) - lineWidth(right);
  return gap < 2 ? paint.strong(left) : paint.strong(left) + " ".repeat(gap) + right;
}

/** What is typed, what happened, or else which keys there are. */
function bottom({ typed, message }: ViewState, keys: string, { columns }: Size, paint: Paint): string {
  if (typed !== undefined) return `/${printable(typed)}`;
  return message === undefined ? paint.faint(fittingKeys(keys, columns)) : paint.warning(printable(message));
}

/** The keys that fit, whole ones: those behind, which lead to all others and out, are there as long as can be. */
function fittingKeys(keys: string, columns: number): string {
  const each = keys.split("  ");
  const last = each.splice(-2);
  while (each.length > 0 && lineWidth([...each, ...last].join("  ")) > columns) each.pop();
  return [...each, ...last].join("  ");
}

/** A sentence in place of rows, in as many lines as it needs. */
export function indented(sentence: string, { columns }: Size): string[] {
  return wrapWords(sentence, columns - 2).map((line) => `  ${line}`);
}

/** A row with a mark in front where keys act on it, which also tells it without colours. */
export function markedRow(text: string, isSelected: boolean, { columns }: Size, paint: Paint): string {
  const line = fitLine(`${isSelected ? ">" : " "} ${text}`, columns);
  if (!isSelected) return line;
  return paint.selected(line + " ".repeat(Math.max(0, columns - lineWidth(line))));
}
