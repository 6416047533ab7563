import { reasonOf } from "../ground/bytes/dispensable.ts";
import { say } from "../record/host/run/terminal-line.ts";

export async function saySummary(folder: string): Promise<void> {
  // Loaded late, because the program does not need it while it runs.
  const readLines = async () => (await import("./summary.ts")).summaryLines(folder);
  for (const line of await linesOrReason(readLines)) say(line);
}

/**
 * Returns the lines of a summary. An error becomes a line, so that the program's exit code stays the same.
 */
export async function linesOrReason(readLines: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await readLines();
  } catch (error) {
    return [`no findings are told here: ${reasonOf(error)}`];
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
    say(`names of functions are not kept with the run: ${reasonOf(error)}`);
  }
}
