import { UserError } from "../bytes/errors.ts";
import { say } from "../host/run/terminal-line.ts";

/**
 * Says at the end of a run what its report begins with: a line per finding. Nothing where that cannot be read: whoever asks for the
 * report is told why.
 */
export async function saySummary(folder: string): Promise<void> {
  try {
    // Nothing of it is needed while the program runs.
    const { summaryLines } = await import("./summary.ts");
    for (const line of await summaryLines(folder)) say(line);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
}
