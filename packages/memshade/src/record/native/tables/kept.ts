import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type WholeFile, writeWholeFile } from "../../../names/load/whole-file.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { hasSum, SUM_BYTES, sumOf } from "./sum.ts";

/** Sources that run as they are change under one name. */
const BUILT_FILE = /-([\w-]{8})\.js$/;

/**
 * What `make` makes, or what it has made before: kept in a folder, by a name that tells all that it depends on but the code. For that
 * stands the name of the built file that this is part of, which has a hash of the contents and of all that it imports in it.
 */
export function kept(folder: string, name: string, make: () => Uint8Array): Uint8Array {
  const [, version] = BUILT_FILE.exec(import.meta.url) ?? [];
  if (version === undefined) return make();
  const [kind, ...rest] = name.split("-");
  const path = join(folder, [kind, version, ...rest].join("-"));
  const before = readKept(path);
  if (before !== undefined) return before;
  const made = make();
  writeKept(path, made);
  return made;
}

/** Writes something with its sum in front: files that are kept outlive full disks and lost power. */
export function writeKept(path: string, bytes: Uint8Array): void {
  const write = (file: WholeFile): void => {
    file.write(sumOf(bytes));
    file.write(bytes);
  };
  writeWholeFile(path, write, KEPT_MODE);
}

/** Undefined where there is none, it is not what was written, or somebody else may have written it. */
export function readKept(path: string): Uint8Array | undefined {
  try {
    if (!isOwn(path)) return undefined;
    const all = readFileSync(path);
    const bytes = all.subarray(SUM_BYTES);
    return hasSum(bytes, all.subarray(0, SUM_BYTES)) ? bytes : undefined;
  } catch {
    return undefined;
  }
}
