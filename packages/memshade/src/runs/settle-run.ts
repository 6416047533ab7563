import { existsSync } from "node:fs";

/**
 * A process that is killed while its run takes the place of an earlier one leaves both beside that place for a moment: whoever
 * asks for the run then gets the one that is whole.
 */
export async function settleRun(input: string): Promise<void> {
  if (existsSync(input)) return;
  // Seldom needed, and what writes runs takes its time to load.
  const { settleMissing } = await import("../record/host/run/folder-claim.ts");
  settleMissing(input);
}
