import { FormatError, UserError } from "../bytes/errors.ts";
import { say } from "../host/run/terminal-line.ts";

/** Exit codes of memshade's own failures; otherwise the exit code is the program's. */
export const USER_MISTAKE = 2;
const DEFECT = 70;

/** Prints what went wrong, in one line unless it is a defect, and returns the exit code. */
export function explainFailure(error: unknown): number {
  if (error instanceof UserError || error instanceof FormatError) {
    say(oneLine(error.message));
    return USER_MISTAKE;
  }
  say(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
  return DEFECT;
}

export function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}
