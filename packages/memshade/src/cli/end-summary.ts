import { reasonOf } from "../ground/bytes/dispensable.ts";
import { say } from "../record/host/run/terminal-line.ts";

/** Says at the end of a run what its report begins with: a line per finding. */
export async function saySummary(folder: string): Promise<void> {
  // Nothing of it is needed while the program runs.
  const readLines = async () => (await import("./summary.ts")).summaryLines(folder);
  for (const line of await linesOrReason(readLines)) say(line);
}

/** The lines of a summary. Whatever goes wrong becomes a line, so the program's exit code stays what it is. */
export async function linesOrReason(readLines: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await readLines();
  } catch (error) {
    return [`no findings are told here: ${reasonOf(error)}`];
  }
}

/** Writes names and lines beside runs of native programs of which nothing else is said. Whatever goes wrong is told in a line. */
export async function nameRuns(folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  try {
    const summary = await import("./summary.ts");
    await summary.nameRuns(folders);
  } catch (error) {
    say(`names of functions are not kept with the run: ${reasonOf(error)}`);
  }
}
