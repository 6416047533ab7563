import { reasonOf } from "../ground/bytes/dispensable.ts";
import { sayLines } from "../record/host/run/terminal-line.ts";

/** Prints the summary at the end of a run: each finding with its advice below it. */
export async function saySummary(folder: string): Promise<void> {
  // Nothing of it is needed while the program runs.
  const readLines = async () => (await import("./summary.ts")).summaryLines(folder);
  for (const entry of await linesOrReason(readLines)) sayLines(entry.split("\n"));
}

/** The lines of a summary. Whatever goes wrong becomes a line, so the program's exit code stays what it is. */
export async function linesOrReason(readLines: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await readLines();
  } catch (error) {
    return [`findings could not be searched: ${reasonOf(error)}`];
  }
}

/** Writes names and lines beside runs of native programs of which nothing else is said. Whatever goes wrong is told in a line. */
export async function nameRuns(folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  try {
    const summary = await import("./summary.ts");
    await summary.nameRuns(folders);
  } catch (error) {
    sayLines([`names of functions are not kept with the run: ${reasonOf(error)}`]);
  }
}
