import fs from "node:fs";
import path from "node:path";
import { markObjects } from "../analyses/frames/mark-frames.ts";
import { UserError } from "../bytes/errors.ts";
import { describeSystemError } from "../bytes/system-errors.ts";
import { loadDemangler } from "../load/demangler.ts";
import { readRegular } from "../load/file.ts";
import type { ObjectsProfile } from "../model/objects/objects.ts";
import { readObjects } from "../model/objects/read-objects.ts";
import { readableObjects } from "../symbolize/readable-profiles.ts";
import type { OwnCode } from "./own-code.ts";
import { runOf } from "./run-of-folder.ts";

const OBJECTS_FILE = "objects.json";
/** Larger files are not what the recorder writes. */
const LARGEST_FILE_BYTES = 1 << 29;

/** Whether the run's directory (or the file) tells of garbage-collected objects, or says that there is something that does. */
export function hasObjects(input: string): boolean {
  const file = fileOf(input);
  return path.basename(file) === OBJECTS_FILE && (fs.existsSync(file) || isAnnounced(file));
}

/**
 * Reads the objects of a run's directory, of its `run.json`, or of an `objects.json`.
 *
 * @throws UserError in one line: nothing there, not recorded, damaged
 */
export function loadObjects(input: string, { rules }: OwnCode = {}): ObjectsProfile {
  const file = fileOf(input);
  if (!fs.existsSync(file)) {
    if (!fs.existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
    throw new UserError(
      isAnnounced(file)
        ? `${input} is incomplete: ${OBJECTS_FILE} is missing`
        : `${input} has no garbage-collected objects: it was recorded without --tool objects`,
    );
  }
  if (fs.statSync(file).size > LARGEST_FILE_BYTES) throw new UserError(`${file} is too large`);
  try {
    const profile = readableObjects(readObjects(readRegular(file).toString()), loadDemangler());
    const run = file === input ? undefined : runOf(path.dirname(file));
    profile.notTracked.push(...(run?.notTracked ?? []));
    if (rules !== undefined) markObjects(profile, rules, run?.modules);
    return profile;
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

/** Whether the run that the file would belong to was recorded with the tool. */
function isAnnounced(file: string): boolean {
  const folder = path.dirname(file);
  return fs.existsSync(folder) && runOf(folder)?.files.objects !== undefined;
}

function fileOf(input: string): string {
  const status = fs.statSync(input, { throwIfNoEntry: false });
  if (status?.isDirectory()) return path.join(input, OBJECTS_FILE);
  return path.basename(input) === "run.json" ? path.join(path.dirname(input), OBJECTS_FILE) : input;
}
