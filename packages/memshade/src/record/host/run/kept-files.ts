import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readRegular } from "../../../names/load/file.ts";
import { type WholeFile, writeWholeFile } from "../../../names/load/whole-file.ts";
import { nativeSha256 } from "../module/native-sha256.ts";
import { isOwn, KEPT_MODE } from "./own-files.ts";

/* Files and folders of the cache: each is complete when it has its name. */

const SUM_BYTES = 32;

/** Writes bytes with their sum in front, because a full disk or lost power may damage cached files. */
export function writeKept(path: string, bytes: Uint8Array): void {
  const write = (file: WholeFile): void => {
    file.write(nativeSha256(bytes));
    file.write(bytes);
  };
  writeWholeFile(path, write, KEPT_MODE);
}

/** Returns undefined if the file is missing or damaged, or if another user may have written it. */
export function readKept(path: string): Uint8Array | undefined {
  try {
    if (!isOwn(path)) return undefined;
    const content = readRegular(path);
    const bytes = content.subarray(SUM_BYTES);
    return Buffer.compare(nativeSha256(bytes), content.subarray(0, SUM_BYTES)) === 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Matches the name of a built file. Sources have no such name, and change without a new one. */
const BUILT_FILE = /-([\w-]{8})\.js$/;

/**
 * Returns the version of the code in a file: the hash in the name of the built file, which covers all its imports.
 * Undefined for sources.
 */
export function builtVersion(url: string): string | undefined {
  return BUILT_FILE.exec(url)?.[1];
}

/** File of the cache, or folder of files. */
export interface KeptEntry {
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
  /** True while it is being written. */
  readonly isPartial: boolean;
}

/** Returns the entries of a folder, the most recently used first. */
export function keptEntries(folder: string): KeptEntry[] {
  try {
    const entries = readdirSync(folder).flatMap((name) => describeEntry(join(folder, name)));
    return entries.sort((a, b) => b.usedMs - a.usedMs);
  } catch {
    // There is no such folder.
    return [];
  }
}

/** Milliseconds after its last use during which an entry may be about to be completed or mounted. */
const IN_USE_MS = 600_000;

/**
 * Removes entries until the folder is small enough, those unused for longest first, and unfinished ones.
 * @param inUseMs milliseconds after its last use during which an entry stays
 */
export function shrinkKept(folder: string, mostBytes: number, inUseMs = IN_USE_MS): void {
  let total = 0;
  for (const { path, bytes, usedMs, isPartial } of keptEntries(folder)) {
    total += bytes;
    const isOld = Date.now() - usedMs > (isPartial ? IN_USE_MS : inUseMs);
    if (isOld && (isPartial || total > mostBytes)) rmSync(path, { recursive: true, force: true });
  }
}

/** Most bytes of rewritten modules: 40 or more of the largest packages. */
export const MOST_MODULE_BYTES = 2 ** 30;

/** Caches a rewritten module, unless there is no room or permission. */
export function tryKeepModule(path: string, bytes: Uint8Array): void {
  try {
    writeKept(path, bytes);
    shrinkKept(dirname(path), MOST_MODULE_BYTES, 0);
  } catch {
    // The next run rewrites it again.
  }
}

function describeEntry(path: string): KeptEntry[] {
  try {
    const status = statSync(path);
    const bytes = status.isDirectory()
      ? readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
      : status.size;
    return [{ path, bytes, usedMs: status.mtimeMs, isPartial: basename(path).startsWith(".") }];
  } catch {
    // Another process has removed it.
    return [];
  }
}
