/** Columns of text that goes to a pipe or a file, and of a terminal that does not say how wide it is. */
export const REPORT_COLUMNS = 80;

/** Narrower terminals wrap lines; on wider ones the two ends of a line are too far apart to be read together. */
const LEAST_COLUMNS = 60;
const MOST_COLUMNS = 200;

/** A descriptor that text is written to. */
export interface TextTarget {
  readonly isTerminal: boolean;
  /** Undefined where the terminal does not tell. */
  readonly columns?: number | undefined;
}

/** Returns the columns that the lines of a report are made for. */
export function columnsOf({ isTerminal, columns = REPORT_COLUMNS }: TextTarget): number {
  return isTerminal ? Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS) : REPORT_COLUMNS;
}
