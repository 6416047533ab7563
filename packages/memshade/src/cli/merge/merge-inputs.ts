import { UserError } from "../../ground/bytes/errors.ts";
import type { InputMerger, MergeFields } from "../../names/memprof/input-merger.ts";
import type { MergeInput } from "../../names/memprof/inputs.ts";
import { mergeInputs } from "../../names/memprof/merge-profiles.ts";
import { Progress } from "../../record/host/run/progress.ts";
import { say } from "../../record/host/run/terminal-line.ts";
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
