import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isOwnedFolder, makeOwnedFolder, removeLeftFolders } from "../run/owned-folders.ts";

/** Paths of Unix sockets are limited to about 100 bytes, and some temporary folders are deep. */
const SOCKET_PATH_LIMIT = 100;

const KIND = "control";
const SOCKET = "control";

/** Where a supervising process listens: a new address. */
export function newControlAddress(): string {
  if (process.platform === "win32") return `\\\\.\\pipe\\memshade-${process.pid}`;
  return join(makeOwnedFolder(base(), KIND), SOCKET);
}

/** Removes the folder that holds the socket at this address, if there is one. */
export function removeControlFolder(address: string): void {
  const folder = dirname(address);
  if (isOwnedFolder(basename(folder), KIND)) rmSync(folder, { recursive: true, force: true });
}

/** Removes the folders of supervising processes that were killed. */
export function removeLeftControlFolders(): void {
  if (process.platform !== "win32") removeLeftFolders(base(), KIND);
}

function base(): string {
  return Buffer.byteLength(tmpdir()) + 35 <= SOCKET_PATH_LIMIT ? tmpdir() : "/tmp";
}
