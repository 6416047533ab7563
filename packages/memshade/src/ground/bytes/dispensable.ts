import { FormatError, UserError } from "./errors.ts";

/** Tests want defects to end what they run. */
const isStrict = (): boolean => globalThis.process?.env?.MEMSHADE_STRICT === "1";

/**
 * Reads what a run or a report can do without, such as names, lines or a summary: a fault there, ours too, leaves it out, and
 * neither stops the report nor changes the exit code of a program.
 *
 * @param tell is given the reason in a few words
 * @returns undefined where it could not be read
 */
export function dispensable<T>(read: () => T, tell: (reason: string) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    tell(reasonOf(error));
    return undefined;
  }
}

/** What went wrong with something dispensable, in one line. @throws the error where it is a defect and tests are run */
export function reasonOf(error: unknown): string {
  if (error instanceof UserError || error instanceof FormatError) return error.message;
  if (isStrict()) throw error;
  const [first = "", where = ""] = (error instanceof Error ? (error.stack ?? error.message) : String(error))
    .split("\n")
    .map((line) => line.trim());
  return `internal error: ${first} ${where}`.trimEnd();
}
