import { FormatError, UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import {
  beforeRecording,
  dieBySignal,
  EndedBySignal,
  signalNumber,
} from "../record/host/run/die-by-signal.ts";
import { say, sayLines } from "../record/host/run/terminal-line.ts";

/** Exit codes of memshade's own failures. In all other cases the exit code is the program's. */
export const USER_MISTAKE = 2;
const DEFECT = 70;
/** Added to a signal's number for the exit code, as shells do. */
const SIGNAL_BASE = 128;

/** Prints an error, in one line unless it is a defect, and returns the exit code. */
export function explainFailure(error: unknown): number {
  if (error instanceof UserError || error instanceof FormatError) {
    say(joinLines(error.message));
    return USER_MISTAKE;
  }
  if (error instanceof EndedBySignal) {
    say(beforeRecording(error.signal));
    dieBySignal(error.signal);
    return SIGNAL_BASE + signalNumber(error.signal);
  }
  if (isRefusal(error)) {
    say(`${error.path}: ${describeSystemError(error)}`);
    return USER_MISTAKE;
  }
  if ((error as NodeJS.ErrnoException)?.syscall === "uv_cwd") {
    say("the folder that memshade was started in was removed; start it in another one");
    return USER_MISTAKE;
  }
  sayLines(`internal error: ${error instanceof Error ? error.stack : String(error)}`.split("\n"));
  return DEFECT;
}

/**
 * True for an error of the file system about a path that the user has named, such as a link to itself. It is
 * no defect of memshade.
 */
function isRefusal(error: unknown): error is NodeJS.ErrnoException {
  const { syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  return error instanceof Error && syscall !== undefined && path !== undefined;
}

export function joinLines(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}
