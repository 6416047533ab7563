import fs from "node:fs";
import path from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { readRegular } from "../../load/file.ts";
import { readRun } from "../../model/read-run.ts";
import { type Presence, RUN_FILE, type Run } from "../../model/run.ts";

/**
 * What the `run.json` of a folder says; undefined where there is none.
 *
 * @throws UserError in one line if it is damaged
 */
export function runOf(folder: string): Run | undefined {
  const file = path.join(folder, RUN_FILE);
  if (!fs.existsSync(file)) return undefined;
  try {
    return readRun(readRegular(file).toString());
  } catch (error) {
    throw new UserError(`${file}: ${(error as Error).message}`);
  }
}

/** What the profiler took in the run that a folder, or a file in it, is of; undefined where that is not known. */
export function presenceOf(input: string): Presence | undefined {
  const isFolder = fs.statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  return runOf(isFolder ? input : path.dirname(input))?.presence;
}
