import { describeSystemError } from "../../bytes/system-errors.ts";
import { say } from "./terminal-line.ts";

/** Exit code of runs of which something that was recorded could not be written (EX_IOERR of sysexits), whatever the program's was. */
export const NOT_WRITTEN = 74;

/** Says that a profile could not be written. @returns the reason. */
export function sayNotWritten(folder: string, error: unknown): string {
  const reason = describeSystemError(error);
  const own = `cannot write the profile to ${folder}: `;
  say(reason.startsWith(own) ? reason : own + reason);
  return reason;
}

/** Says that a second signal has ended the writing of a profile. */
export function sayInterrupted(folder: string): void {
  say(`interrupted: the profile was not written to ${folder}, and what was written of it is removed`);
}
