import fs from "node:fs";
import path from "node:path";
import { attempt } from "../ground/bytes/dispensable.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { readRegular } from "../names/load/file.ts";

import { readMeasured, readRun } from "../profile/model/read-run.ts";
import { type Measured, type Presence, RUN_FILE, type Run } from "../profile/model/run.ts";
import { cameFrom } from "./run-names.ts";

/**
 * Reads the `run.json` of a folder; undefined if there is none.
 *
 * @throws UserError in one line if it is damaged
 */
export function runOf(folder: string): Run | undefined {
  const file = path.join(folder, RUN_FILE);
  return fs.existsSync(file) ? loadRun(file) : undefined;
}

/** The last run that was read, with the state of its file: a report needs it several times. */
let last: { readonly file: string; readonly state: string; readonly run: Run } | undefined;

function parsedRun(file: string): Run {
  const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(file, { bigint: true });
  const state = [dev, ino, size, mtimeNs, ctimeNs].join();
  if (last?.file !== file || last.state !== state)
    last = { file, state, run: readRun(readRegular(file).toString()) };
  return last.run;
}

/**
 * Reads a `run.json` and the measurements of its process.
 *
 * @throws UserError in one line if it cannot be read or is damaged
 */
export function loadRun(file: string): Run {
  try {
    const run = parsedRun(file);
    const { presence, files, modules } = run;
    cameFrom(modules, path.dirname(file));
    const measured = measuredOf(path.dirname(file), files.measured);
    return { ...run, presence: presence && { ...presence, process: undefined, ...measured } };
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

/**
 * Returns undefined if the measurements are missing or damaged, because all other figures are valid without
 * them.
 */
function measuredOf(folder: string, name: string | undefined): Measured | undefined {
  if (name === undefined) return undefined;
  return attempt(
    () => readMeasured(readRegular(path.join(folder, path.basename(name))).toString()),
    undefined,
  );
}

/** Returns the profiler's own cost in a run, given by its folder or a file in it; undefined if unknown. */
export function presenceOf(input: string): Presence | undefined {
  return runAround(input)?.presence;
}

/** Returns the recorded paths of a run's modules, given by its folder or a file in it. */
export function modulePathsOf(input: string): readonly string[] {
  return runAround(input)?.modules.flatMap((module) => module.path ?? []) ?? [];
}

/** Returns the run of a folder, or of a file in it; undefined if there is none. */
export function runAround(input: string): Run | undefined {
  const isFolder = fs.statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  return runOf(isFolder ? input : path.dirname(input));
}

/**
 * Restores a run after a killed process. A process that is killed while it replaces a run leaves the old and
 * the new folder beside the run's path. The complete one then gets the path.
 */
export async function settleRun(input: string): Promise<void> {
  if (fs.existsSync(input)) return;
  // Loaded on demand, because it is rarely needed and loads slowly.
  const { settleMissing } = await import("../record/host/run/folder-claim.ts");
  settleMissing(input);
}
