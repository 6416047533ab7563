import { accessSync, constants, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeOwnedFolder } from "../../host/run/owned-folders.ts";

/** Kind in the names of run folders, by which abandoned ones are found. */
export const KIND = "native";

/**
 * Returns true if the system maps and executes files in a folder: it is writable, and not mounted `noexec`.
 */
export function canHoldCode(folder: string): boolean {
  let file: string | undefined;
  try {
    file = join(makeOwnedFolder(folder, KIND), "code");
    writeFileSync(file, "", { mode: 0o700 });
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    if (file !== undefined) rmSync(dirname(file), { recursive: true, force: true });
  }
}
