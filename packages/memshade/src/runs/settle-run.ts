import { existsSync } from "node:fs";

/**
 * Restores a run after a killed process. A process that is killed while it replaces a run leaves the old and
 * the new folder beside the run's path. The complete one then gets the path.
 */
export async function settleRun(input: string): Promise<void> {
  if (existsSync(input)) return;
  // Loaded on demand, because it is rarely needed and loads slowly.
  const { settleMissing } = await import("../record/host/run/folder-claim.ts");
  settleMissing(input);
}
