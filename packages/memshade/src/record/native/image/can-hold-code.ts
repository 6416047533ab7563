import { accessSync, constants, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeOwnedFolder } from "../../host/run/owned-folders.ts";

/** Of the folders of a run, by which those that were left are found again. */
export const KIND = "native";

/** Whether the system maps files of a folder as code, and starts them: it can be written to, and is not mounted `noexec`. */
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
