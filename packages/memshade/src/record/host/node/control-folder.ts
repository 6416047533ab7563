import { rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isOwnedFolder, makeOwnedFolder, parentOfSocket, removeLeftFolders } from "../run/owned-folders.ts";

const KIND = "control";
const SOCKET = "control";

/** Returns a new address for a supervising process to listen on. */
export function newControlAddress(): string {
  if (process.platform === "win32") return `\\\\.\\pipe\\memshade-${process.pid}`;
  return join(makeOwnedFolder(parentOfSocket(KIND, SOCKET), KIND), SOCKET);
}

/** Removes the folder that holds the socket at this address, if there is one. */
export function removeControlFolder(address: string): void {
  const folder = dirname(address);
  if (isOwnedFolder(basename(folder), KIND)) rmSync(folder, { recursive: true, force: true });
}

export function removeLeftControlFolders(): void {
  if (process.platform !== "win32") removeLeftFolders(parentOfSocket(KIND, SOCKET), KIND);
}
