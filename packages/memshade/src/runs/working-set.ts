import fs from "node:fs";
import path from "node:path";
import { markWorkingSet } from "../analyses/frames/mark-frames.ts";
import { UserError } from "../bytes/errors.ts";
import { describeSystemError } from "../bytes/system-errors.ts";
import { loadDemangler } from "../load/demangler.ts";
import { readRegular } from "../load/file.ts";
import { readWorkingSet } from "../model/working-set/read-working-set.ts";
import type { WorkingSetProfile } from "../model/working-set/working-set.ts";
import { readableWorkingSet } from "../symbolize/readable-profiles.ts";
import type { OwnCode } from "./own-code.ts";
import { runOf } from "./run-of-folder.ts";

const WORKING_SET_FILE = "workingset.json";
/** Larger files are not what the recorder writes. */
const LARGEST_FILE_BYTES = 1 << 29;

/** Whether the run's directory (or the file) holds a working set, or says that there is one. */
export function hasWorkingSet(input: string): boolean {
  const file = fileOf(input);
  return path.basename(file) === WORKING_SET_FILE && (fs.existsSync(file) || isAnnounced(file));
}

/**
 * Reads the working set of a run's directory, of its `run.json`, or of a `workingset.json`.
 *
 * @throws UserError in one line: nothing there, not recorded, damaged
 */
export function loadWorkingSet(input: string, { rules }: OwnCode = {}): WorkingSetProfile {
  const file = fileOf(input);
  if (!fs.existsSync(file)) {
    if (!fs.existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
    throw new UserError(
      isAnnounced(file)
        ? `${input} is incomplete: ${WORKING_SET_FILE} is missing`
        : `${input} has no working set: it was recorded without --tool workingset`,
    );
  }
  if (fs.statSync(file).size > LARGEST_FILE_BYTES) throw new UserError(`${file} is too large`);
  try {
    const profile = readableWorkingSet(readWorkingSet(readRegular(file).toString()), loadDemangler());
    const run = file === input ? undefined : runOf(path.dirname(file));
    profile.notTracked.push(...(run?.notTracked ?? []));
    if (rules !== undefined) markWorkingSet(profile, rules, run?.modules);
    return profile;
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

/** Whether the run that the file would belong to was recorded with a working set. */
function isAnnounced(file: string): boolean {
  const folder = path.dirname(file);
  return fs.existsSync(folder) && runOf(folder)?.files.workingset !== undefined;
}

function fileOf(input: string): string {
  const status = fs.statSync(input, { throwIfNoEntry: false });
  if (status?.isDirectory()) return path.join(input, WORKING_SET_FILE);
  return path.basename(input) === "run.json" ? path.join(path.dirname(input), WORKING_SET_FILE) : input;
}
