import { spawnSync } from "node:child_process";
import { isatty } from "node:tty";

/** Columns of text that goes to a pipe or a file, and of a terminal that does not say how wide it is. */
export const REPORT_COLUMNS = 80;

/** Narrower terminals wrap lines; on wider ones the two ends of a line are too far apart to be read together. */
const LEAST_COLUMNS = 60;
const MOST_COLUMNS = 200;

/** Returns the columns that the lines of a report are made for. */
export function columnsOf({ isTerminal, columns = REPORT_COLUMNS }: TextTarget): number {
  return isTerminal ? Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS) : REPORT_COLUMNS;
}

/** A descriptor that text is written to. */
export interface TextTarget {
  readonly isTerminal: boolean;
  /** Undefined where the terminal does not tell. */
  readonly columns?: number | undefined;
}

/** Returns what a descriptor is, without opening Node's stream of it: that would make a pipe non-blocking for all who share it. */
export function targetOf(descriptor: 1 | 2): TextTarget {
  if (!isatty(descriptor)) return { isTerminal: false };
  const { stdout } = spawnSync("stty", ["size"], { stdio: [descriptor, "pipe", "ignore"], encoding: "utf8" });
  const columns = Number(/ (\d+)/.exec(stdout ?? "")?.[1]);
  return { isTerminal: true, columns: columns > 0 ? columns : undefined };
}
