import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { fromHere, say } from "./terminal-line.ts";

/** Exit code of runs with output that could not be written (EX_IOERR of sysexits), whatever the program's code was. */
export const NOT_WRITTEN = 74;

/** Prints that a profile could not be written, with paths relative to `cwd`. @returns the reason. */
export function sayNotWritten(folder: string, cwd: string, error: unknown): string {
  const reason = describeSystemError(error).replace(`cannot write the profile to ${folder}: `, "");
  say(`cannot write the profile to ${fromHere(folder, cwd)}: ${reason}`);
  return reason;
}

export function sayInterrupted(folder: string, cwd: string): void {
  say(
    `interrupted: the profile was not written to ${fromHere(folder, cwd)}, and its incomplete files were removed`,
  );
}
