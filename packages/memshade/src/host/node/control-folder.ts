import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { readRegular } from "../../load/file.ts";
import { isRunning, ownIdentity } from "../run/process-identity.ts";

/** Paths of Unix sockets are limited to about 100 bytes, and some temporary folders are deep. */
const SOCKET_PATH_LIMIT = 100;

const NAME = /^memshade-control-\w{6}$/;
const SOCKET = "control";
const OWNER = "owner";

/** Where a supervising process listens: a new address. */
export function newControlAddress(): string {
  if (process.platform === "win32") return `\\\\.\\pipe\\memshade-${process.pid}`;
  const folder = mkdtempSync(join(base(), "memshade-control-"));
  writeFileSync(join(folder, OWNER), ownIdentity());
  return join(folder, SOCKET);
}

/** Removes the folder that holds the socket at this address, if there is one. */
export function removeControlFolder(address: string): void {
  const folder = dirname(address);
  if (NAME.test(basename(folder))) rmSync(folder, { recursive: true, force: true });
}

/** Removes the folders of supervising processes that were killed. */
export function removeLeftControlFolders(): void {
  if (process.platform === "win32") return;
  for (const name of namesIn(base())) if (NAME.test(name)) removeIfLeft(join(base(), name));
}

/** None where there is no such folder, or it is not ours to read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function base(): string {
  return Buffer.byteLength(tmpdir()) + 35 <= SOCKET_PATH_LIMIT ? tmpdir() : "/tmp";
}

function removeIfLeft(folder: string): void {
  try {
    if (isRunning(readRegular(join(folder, OWNER)).toString()) === false)
      rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else's, or gone.
  }
}
