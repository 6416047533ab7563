import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { readRegular } from "../../../names/load/file.ts";
import { isOwn } from "./own-files.ts";
import { isRunning, ownIdentity } from "./process-identity.ts";

/* Folders for the duration of one process, which name their owner. The next process removes those of a killed one. */

const OWNER = "owner";

/** Upper bound of the time that a folder has no owner while it is created or removed, ms. */
const NAMELESS_MS = 3_600_000;

/** Longest path of a socket on every system, bytes. */
const SOCKET_PATH_LIMIT = 103;

/** Creates a folder of this process, `memshade-KIND-` and six letters. @throws the system's error */
export function makeOwnedFolder(parent: string, kind: string): string {
  const folder = mkdtempSync(join(parent, `memshade-${kind}-`));
  writeFileSync(join(folder, OWNER), ownIdentity());
  return folder;
}

/** Returns the parent for a folder of this kind with a socket in it. Some folders for temporary files are too deep. */
export function parentOfSocket(kind: string, socket: string): string {
  const isDeep = Buffer.byteLength(join(tmpdir(), `memshade-${kind}-XXXXXX`, socket)) > SOCKET_PATH_LIMIT;
  return isDeep && process.platform !== "win32" ? "/tmp" : tmpdir();
}

export function isOwnedFolder(name: string, kind: string): boolean {
  return new RegExp(`^memshade-${kind}-\\w{6}$`).test(name);
}

/**
 * Removes folders of this user whose processes were killed. Another user could exchange the contents of a folder of
 * theirs during the removal.
 */
export function removeLeftFolders(parent: string, kind: string): void {
  for (const name of namesIn(parent)) if (isOwnedFolder(name, kind)) removeIfLeft(join(parent, name));
}

/** Returns no names if the folder does not exist, or cannot be read. */
function namesIn(folder: string): string[] {
  return attempt(() => readdirSync(folder), []);
}

function removeIfLeft(folder: string): void {
  try {
    if (!isOwn(folder) || !isLeft(folder)) return;
    // The owner is removed last: if some entry cannot be removed now, the next process finds the folder again.
    for (const name of readdirSync(folder))
      if (name !== OWNER) rmSync(join(folder, name), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // The folder belongs to another user, is gone, or is still written to by a child of the process.
  }
}

/** True if its process has ended. A process that was killed while it created or removed the folder left no owner. */
function isLeft(folder: string): boolean {
  const isOwnerRunning = isRunning(ownerOf(folder));
  return isOwnerRunning === undefined ? Date.now() - statSync(folder).mtimeMs > NAMELESS_MS : !isOwnerRunning;
}

/** Returns the owner; "" if none is named. @throws if it cannot be read */
function ownerOf(folder: string): string {
  return readdirSync(folder).includes(OWNER) ? readRegular(join(folder, OWNER)).toString() : "";
}
