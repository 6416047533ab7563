import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { readRegular } from "../../../names/load/file.ts";
import { NAMES_FILE, RUN_FILE, RUN_PAGES, RUN_SCHEMA } from "../../../profile/model/run.ts";

/*
 * Which folders a run may take. `folder` is always its name as it was given, for messages, and `target` the folder that this
 * leads to.
 */

/** So many files that are in the way are named. */
const NAMED = 3;

/** The folder that a name leads to: links are followed, so that they stay. */
export function realTarget(folder: string): string {
  const path = resolve(folder);
  let ancestor = path;
  while (!isEntry(ancestor) && dirname(ancestor) !== ancestor) ancestor = dirname(ancestor);
  if (statSync(ancestor, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`cannot write the profile to ${folder}: ${ancestor} is not a folder`);
  return join(realpathSync(ancestor), relative(ancestor, path));
}

/** Whether there is something, links to nothing included. */
function isEntry(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A shell would stand in a folder that is gone. @throws UserError */
export function assertElsewhere(folder: string, target: string): void {
  const here = realpathSync(process.cwd());
  if (here === target || here.startsWith(join(target, sep)))
    throw new UserError(`${folder}: memshade was started there; name a folder of its own with --out`);
}

/** @throws UserError if there is something that a run must not replace. */
export function assertReplaceable(folder: string, target: string): void {
  const status = statSync(target, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isDirectory()) throw new UserError(`cannot write the profile to ${folder}: it is not a folder`);
  if (status.dev !== statSync(dirname(target)).dev)
    throw new UserError(`${folder}: a file system is mounted there; name a folder inside of it with --out`);
  const names = readdirSync(target).sort();
  const known = names.length === 0 ? [] : filesOfRun(target);
  const foreign = names.filter((name) => !known.includes(name));
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, NAMED).join(", ") + (foreign.length > NAMED ? ", …" : "");
  throw new UserError(
    `${folder}: it holds what is no part of a finished run (${shown}); name another folder with --out, or remove that`,
  );
}

/** Names of the files of a finished run, and of what was made of it; none if there is no such run. */
function filesOfRun(folder: string): string[] {
  try {
    const { schema, files } = JSON.parse(readRegular(join(folder, RUN_FILE)).toString());
    return schema === RUN_SCHEMA
      ? [RUN_FILE, NAMES_FILE, ...Object.values(files as Record<string, string>), ...Object.values(RUN_PAGES)]
      : [];
  } catch {
    return [];
  }
}
