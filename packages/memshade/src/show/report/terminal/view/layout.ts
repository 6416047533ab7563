import type { Size } from "./view-state.ts";

/** Rows around the scrolled part: title, heads, and the line for messages. */
const AROUND = 3;
/** Smallest terminal that the view can use. */
export const LEAST: Size = { columns: 20, rows: 5 };

/** Columns before a row: the mark of the selected row, and a space. */
export const MARK_COLUMNS = 2;

export function bodyRows({ rows }: Size): number {
  return Math.max(1, rows - AROUND);
}

/**
 * Returns the rows of the source screen for the call path: at most a third, so that the text gets the most.
 */
export function pathRows(size: Size, frames: number): number {
  return Math.min(frames, Math.max(1, Math.floor(bodyRows(size) / 3)));
}

/** Returns the first row to show: the one nearest to `top` that keeps the cursor visible. */
export function topFor(top: number, cursor: number, height: number, count: number): number {
  const most = Math.max(0, count - height);
  const seen = cursor < top ? cursor : cursor >= top + height ? cursor - height + 1 : top;
  return Math.max(0, Math.min(seen, most));
}
