import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Creates a folder and its parents, one by one. On file systems without folders, such as /proc, Node's own `recursive`
 * does not return.
 * @returns the topmost folder created; undefined if all existed.
 * @throws the system's error. Folders created before it stay.
 */
export function makeFolders(folder: string, mode?: number): string | undefined {
  const path = resolve(folder);
  if (existsSync(path) && statSync(path).isDirectory()) return undefined;
  const above = dirname(path);
  const topmost = above === path ? undefined : makeFolders(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process was faster.
    if (existsSync(path) && statSync(path).isDirectory()) return topmost;
    throw error;
  }
  return topmost ?? path;
}
