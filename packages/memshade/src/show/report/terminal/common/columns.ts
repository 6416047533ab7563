/** Columns of text written to a pipe or file, or to a terminal of unknown width. */
export const REPORT_COLUMNS = 80;

/**
 * Narrower terminals wrap lines. On wider ones the two ends of a line are too far apart to be read together.
 */
const LEAST_COLUMNS = 60;
const MOST_COLUMNS = 200;

/** A file descriptor that text is written to. */
export interface TextTarget {
  readonly isTerminal: boolean;
  /** Undefined if the terminal does not report its width. */
  readonly columns?: number | undefined;
}

/** Returns the number of columns that report lines are laid out for. */
export function columnsOf({ isTerminal, columns = REPORT_COLUMNS }: TextTarget): number {
  return isTerminal ? Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS) : REPORT_COLUMNS;
}
