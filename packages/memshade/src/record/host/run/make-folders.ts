import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and those above it, one by one: where a file system makes none, such as /proc, Node's own `recursive` does not
 * return.
 *
 * @returns the topmost folder made; undefined if all were there.
 * @throws the system's error. Folders made before it stay.
 */
export function makeFolders(folder: string, mode?: number): string | undefined {
  const path = resolve(folder);
  if (existsSync(path) && statSync(path).isDirectory()) return undefined;
  const above = dirname(path);
  const topmost = above === path ? undefined : makeFolders(above, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Somebody else was quicker.
    if (existsSync(path) && statSync(path).isDirectory()) return topmost;
    throw error;
  }
  return topmost ?? path;
}
