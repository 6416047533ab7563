import { findingInWords } from "../../findings/finding-lines.ts";
import type { Paint } from "../common/paint.ts";
import { displayWidth, padLeft, printable } from "../common/text.ts";
import { frameLabel } from "../tree/frame-label.ts";
import { bodyRows, pathRows, topFor } from "./layout.ts";
import { indented, markedRow, type Rendered } from "./render.ts";
import type { ViewModel } from "./view-model.ts";
import type { Size, SourceScreen } from "./view-state.ts";

const MARK = 2;

/** The path, innermost frame first, and below it the text around the line of the frame under the cursor. */
export function renderSource(model: ViewModel, screen: SourceScreen, size: Size, paint: Paint): Rendered {
  const { findings } = model.contents;
  const finding = screen.finding === undefined ? undefined : findings[screen.finding];
  const pathHeight = pathRows(size, screen.path.length);
  const first = topFor(0, screen.cursor, pathHeight, screen.path.length);
  const frames = screen.path.slice(first, first + pathHeight).map((frame, row) => {
    const lead = first + row === 0 ? "" : "← ";
    const { name, place } = frameLabel(frame, size.columns - MARK - lead.length);
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
  /** By how many lines the text is moved, as far as it can be. */
  readonly top: number;
  readonly file: string;
}

function sourceLines(model: ViewModel, screen: SourceScreen, size: Size, paint: Paint): SourceLines {
  const height = size.rows;
  const { file, line } = screen.path[screen.cursor] ?? {};
  if (file === undefined)
    return { lines: indented("no source file is known of this code", size), top: 0, file: "no source" };
  const name = printable(file);
  const text = model.contents.readSource(file);
  if (text === undefined || line === undefined)
    return {
      lines: indented(
        text === undefined
          ? "the file was not found: --path-map FROM=TO tells where it is"
          : "no line is known of this code",
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
