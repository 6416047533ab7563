import { FormatError, UserError } from "./errors.ts";

/** True if defects should end the program, as in tests. */
const isStrict = (): boolean => globalThis.process?.env?.MEMSHADE_STRICT === "1";

/**
 * Reads optional parts of a run or report, such as names, lines or a summary. If reading fails, even by a defect of
 * memshade, the part is left out. The report continues, and the program's exit code stays.
 *
 * @param report receives the reason in a few words
 * @returns undefined if reading failed
 */
export function dispensable<T>(read: () => T, report: (reason: string) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    report(reasonOf(error));
    return undefined;
  }
}

/** Returns a value, or another one if making it fails. */
export function attempt<Value, Other>(make: () => Value, other: Other): Value | Other {
  try {
    return make();
  } catch {
    return other;
  }
}

/**
 * Returns the reason of a failure in one line.
 *
 * @throws the error, if it is a defect and strict mode is on
 */
export function reasonOf(error: unknown): string {
  if (error instanceof UserError || error instanceof FormatError) return error.message;
  if (isStrict()) throw error;
  const [first = "", location = ""] = (
    error instanceof Error ? (error.stack ?? error.message) : String(error)
  )
    .split("\n")
    .map((line) => line.trim());
  return `internal error: ${first} ${location}`.trimEnd();
}
