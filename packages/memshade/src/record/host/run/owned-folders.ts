import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRegular } from "../../../names/load/file.ts";
import { isOwn } from "./own-files.ts";
import { isRunning, ownIdentity } from "./process-identity.ts";

/* Folders for the time of one process, which say whose they are: what a killed process leaves goes when the next one comes. */

const OWNER = "owner";

/** Longer than a folder is there without saying whose it is while it is made or removed, ms. */
const NAMELESS_MS = 3_600_000;

/** Bytes that the path of a socket may have, on every system. */
const SOCKET_PATH_LIMIT = 103;

/** Makes a folder of this process, `memshade-KIND-` and six letters. @throws the system's error */
export function makeOwnedFolder(parent: string, kind: string): string {
  const folder = mkdtempSync(join(parent, `memshade-${kind}-`));
  writeFileSync(join(folder, OWNER), ownIdentity());
  return folder;
}

/** Where a folder of this kind may lie with a socket in it: some folders for temporary files are too deep. */
export function parentOfSocket(kind: string, socket: string): string {
  const isDeep = Buffer.byteLength(join(tmpdir(), `memshade-${kind}-XXXXXX`, socket)) > SOCKET_PATH_LIMIT;
  return isDeep && process.platform !== "win32" ? "/tmp" : tmpdir();
}

/** Whether a folder has the name of one. */
export function isOwnedFolder(name: string, kind: string): boolean {
  return new RegExp(`^memshade-${kind}-\\w{6}$`).test(name);
}

/** Removes those of this user whose processes were killed. Another user could exchange what lies in a folder of his while it is removed. */
export function removeLeftFolders(parent: string, kind: string): void {
  for (const name of namesIn(parent)) if (isOwnedFolder(name, kind)) removeIfLeft(join(parent, name));
}

/** None where there is no such folder, or it is not ours to read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeIfLeft(folder: string): void {
  try {
    if (!isOwn(folder) || !isLeft(folder)) return;
    // Whose it was is told until all else is gone: where something cannot be removed now, the next process finds it again.
    for (const name of readdirSync(folder))
      if (name !== OWNER) rmSync(join(folder, name), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else's, gone, or still written to by what the process has started.
  }
}

/** Whether its process has ended. One that was killed while it made the folder, or removed it, has not said or says no more whose it is. */
function isLeft(folder: string): boolean {
  const isOwnerRunning = isRunning(ownerOf(folder));
  return isOwnerRunning === undefined ? Date.now() - statSync(folder).mtimeMs > NAMELESS_MS : !isOwnerRunning;
}

/** Who says to be the owner; "" where nobody does. @throws where that cannot be read */
function ownerOf(folder: string): string {
  return readdirSync(folder).includes(OWNER) ? readRegular(join(folder, OWNER)).toString() : "";
}
