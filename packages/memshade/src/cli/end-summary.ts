import { reasonOf } from "../ground/bytes/dispensable.ts";
import { sayLines } from "../record/host/run/terminal-line.ts";

/** Prints the summary at the end of a run: each finding with its advice below it. */
export async function saySummary(folder: string): Promise<void> {
  // Loaded late, because the program does not need it while it runs.
  const readLines = async () => (await import("./summary.ts")).summaryLines(folder);
  for (const entry of await linesOrReason(readLines)) sayLines(entry.split("\n"));
}

/**
 * Returns the lines of a summary. An error becomes a line, so that the program's exit code stays the same.
 */
export async function linesOrReason(readLines: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await readLines();
  } catch (error) {
    return [`cannot search for findings: ${reasonOf(error)}`];
  }
}

/**
 * Writes names and lines beside runs of native programs that get no summary. An error is printed as a line.
 */
export async function nameRuns(folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  try {
    const summary = await import("./summary.ts");
    await summary.nameRuns(folders);
  } catch (error) {
    sayLines([`cannot store the names of functions in the run: ${reasonOf(error)}`]);
  }
}

/**
 * Ends this process after a program has run, whose threads may still exist. Only for commands that print
 * nothing to stdout themselves, because their output might be lost.
 */
export function endProcess(code: number): never {
  process.exit(code);
}
