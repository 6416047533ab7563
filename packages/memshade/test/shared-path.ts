import { existsSync } from "node:fs";
import path from "node:path";

const SHARED = path.resolve(import.meta.dirname, "../../../../shared");

/**
 * Path of a file or folder in the collection next to the repository (`../shared`), for fixtures too large for the
 * repository; undefined, with a warning, if it is missing. Tests that need it are skipped then.
 */
export function sharedPath(name: string): string | undefined {
  const found = path.join(SHARED, name);
  if (existsSync(found)) return found;
  console.warn(`SKIPPED: ../shared/${name} is not there`);
  return undefined;
}
