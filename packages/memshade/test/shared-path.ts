import { existsSync } from "node:fs";
import path from "node:path";

const SHARED = path.resolve(import.meta.dirname, "../../../../shared");

/**
 * A file or folder of the collection beside the repository (`../shared`), which has fixtures too large to be part of
 * it; undefined, with a warning, where it is not there. Tests that need it are skipped then.
 */
export function sharedPath(name: string): string | undefined {
  const found = path.join(SHARED, name);
  if (existsSync(found)) return found;
  console.warn(`SKIPPED: ../shared/${name} is not there`);
  return undefined;
}
