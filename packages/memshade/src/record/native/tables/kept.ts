import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type WholeFile, writeWholeFile } from "../../../names/load/whole-file.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { hasSum, SUM_BYTES, sumOf } from "./sum.ts";

/** Matches the name of a built file. Sources have no such name, and change without a new one. */
const BUILT_FILE = /-([\w-]{8})\.js$/;

/**
 * Returns the result of `make`, or its cached result of an earlier run. The name must identify all inputs
 * except the code. The version of the code is the hash in the name of the built file, which covers all its
 * imports.
 */
export function cachedFile(folder: string, name: string, make: () => Uint8Array): Uint8Array {
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

/** Writes bytes with their sum in front, because a full disk or lost power may damage cached files. */
export function writeKept(path: string, bytes: Uint8Array): void {
  const write = (file: WholeFile): void => {
    file.write(sumOf(bytes));
    file.write(bytes);
  };
  writeWholeFile(path, write, KEPT_MODE);
}

/** Returns undefined if the file is missing or damaged, or if another user may have written it. */
export function readKept(path: string): Uint8Array | undefined {
  try {
    if (!isOwn(path)) return undefined;
    const content = readFileSync(path);
    const bytes = content.subarray(SUM_BYTES);
    return hasSum(bytes, content.subarray(0, SUM_BYTES)) ? bytes : undefined;
  } catch {
    return undefined;
  }
}
