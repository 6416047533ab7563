import { accessSync, constants, type Stats, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";

/**
 * The file that a shell would run for a name: as it stands if there is a slash in it, else the first of that name in `PATH`.
 *
 * @throws UserError in one line: there is none, or it is a folder, or it may not be run
 */
export function findProgram(name: string, searchPath: string | undefined = process.env.PATH): string {
  if (name.includes("/")) {
    const problem = problemOf(name);
    if (problem !== undefined) throw new UserError(`${name}: ${problem}`);
    return name;
  }
  const places = (searchPath ?? "").split(delimiter).map((folder) => join(folder || ".", name));
  const found = places.find((place) => problemOf(place) === undefined);
  if (found !== undefined) return found;
  // A file of that name here is what was meant, most likely.
  const here = statSync(name, { throwIfNoEntry: false })?.isFile() === true;
  throw new UserError(
    here
      ? `${name}: no program of that name is in PATH; for the file in this folder: ./${name}`
      : `${name}: there is no such file, and no program of that name in PATH`,
  );
}

function problemOf(path: string): string | undefined {
  const status = tryStatus(path);
  if (typeof status === "string") return status;
  if (status.isDirectory()) return "it is a folder, not a program";
  if (!status.isFile()) return "it is no regular file";
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return "it may not be executed (chmod +x makes it so)";
  }
  return undefined;
}

/** Or why it has none: a folder on the way may be somebody else's. */
function tryStatus(path: string): Stats | string {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? "no such file";
  } catch (error) {
    return describeSystemError(error);
  }
}
