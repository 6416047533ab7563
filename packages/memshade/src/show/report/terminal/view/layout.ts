import type { Size } from "./view-state.ts";

/** Rows above and below what scrolls: title, heads, and the line for messages. */
const AROUND = 3;
/** With less, nothing can be shown. */
export const LEAST: Size = { columns: 20, rows: 5 };

/** What stands in front of a row: the mark of the chosen one, and a space. */
export const MARK_COLUMNS = 2;

export function bodyRows({ rows }: Size): number {
  return Math.max(1, rows - AROUND);
}

/** Rows of the source screen that the path takes: some, so that the text has most of them. */
export function pathRows(size: Size, frames: number): number {
  return Math.min(frames, Math.max(1, Math.floor(bodyRows(size) / 3)));
}

/** The first row that is shown, so that the cursor is seen, as near as can be to the one that was. */
export function topFor(top: number, cursor: number, height: number, count: number): number {
  const most = Math.max(0, count - height);
  const seen = cursor < top ? cursor : cursor >= top + height ? cursor - height + 1 : top;
  return Math.max(0, Math.min(seen, most));
}
