import { accessSync, constants, lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { makeFolders } from "./make-folders.ts";
import { isContentOwn, isOwn, isSafelyPlaced } from "./own-files.ts";
import { say } from "./terminal-line.ts";

function cachesOf({ env }: Pick<NodeJS.Process, "env">): string {
  const caches = env.XDG_CACHE_HOME;
  return join(caches?.startsWith("/") ? caches : join(homedir(), ".cache"), "memshade");
}

/** Returns the folder for results that are made once per object or version. */
export function cacheFolder(from: Pick<NodeJS.Process, "env"> = process): string {
  return join(cachesOf(from), "native");
}

const PRIVATE = 0o700;
let isTold = false;

/**
 * Returns the folder in which Node may cache memshade's compiled code; undefined if others could have put other code
 * there.
 */
export function compiledCodeFolder(): string | undefined {
  const caches = cachesOf(process);
  const folder = join(caches, "node");
  if (problemOf(folder, [caches, folder]) !== undefined) return undefined;
  return attempt(() => (isContentOwn(folder) ? folder : undefined), undefined);
}

/**
 * Returns a folder of the cache for code that programs run. No other user may be able to write there. If that cannot be
 * ensured, returns a folder below `instead` for the duration of a run.
 * @param name of the folder @param caches as by `cacheFolder`, below the folder `memshade`
 */
export function keepingFolder(name: string, instead: string, caches: string): string {
  const folder = join(caches, name);
  const problem = problemOf(folder, [dirname(caches), caches, folder]);
  if (problem === undefined) return folder;
  if (problem !== "" && !isTold) {
    isTold = true;
    say(`${problem}: the cache is not used, because its files may come from another user`);
  }
  const replacement = join(instead, name);
  makeFolders(replacement, PRIVATE);
  return replacement;
}

/**
 * Returns why a folder cannot be used: a text if others may have written there, "" for other problems; undefined if it
 * can be used.
 */
function problemOf(folder: string, ownPaths: readonly string[]): string | undefined {
  try {
    if (!isSafelyPlaced(folder)) return `${folder} lies in a folder of another user, or where all can write`;
    makeFolders(folder, PRIVATE);
    const strange = ownPaths.find((path) => !isOwn(path));
    if (strange !== undefined) {
      const isOurs = lstatSync(strange).uid === process.geteuid?.();
      return `${strange} ${isOurs ? "can be written to by others" : "belongs to another user"}`;
    }
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch {
    return "";
  }
}
