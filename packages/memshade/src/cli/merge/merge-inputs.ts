import { UserError } from "../../bytes/errors.ts";
import { Progress } from "../../host/run/progress.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { InputMerger, MergeFields } from "../../memprof/input-merger.ts";
import type { MergeInput } from "../../memprof/inputs.ts";
import { mergeInputs } from "../../memprof/merge-profiles.ts";
import type { MergeFlags } from "./flags.ts";

export const NOTHING_READ = "none of the inputs could be read: nothing was written";

export function saySkipped(message: string): void {
  say(`skipped: ${message}`);
}

/** Merges inputs, and shows how far it is. @throws UserError if nothing could be read */
export async function merge(
  inputs: readonly MergeInput[],
  kept: MergeFields,
  flags: MergeFlags,
): Promise<InputMerger> {
  const progress = new Progress("merging profiles");
  let skipped = 0;
  try {
    const merged = await mergeInputs(inputs, {
      places: { binaries: flags.binary, searchPaths: flags.search },
      ...kept,
      threads: flags.threads,
      progress: (done, total) => total > 1 && progress.show(done, total),
      ...(flags.skipBad === true
        ? {
            skip: (message: string) => {
              skipped++;
              progress.clear();
              saySkipped(message);
            },
          }
        : {}),
    });
    if (skipped === inputs.length) throw new UserError(NOTHING_READ);
    return merged;
  } finally {
    progress.clear();
  }
}
