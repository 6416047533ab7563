import { join } from "node:path";
import { builtVersion, readKept, writeKept } from "../../host/run/kept-files.ts";

/**
 * Returns the result of `make`, or its cached result of an earlier run. The name must identify all inputs
 * except the code, which has a version.
 */
export function cachedFile(folder: string, name: string, make: () => Uint8Array): Uint8Array {
  const version = builtVersion(import.meta.url);
  if (version === undefined) return make();
  const [kind, ...rest] = name.split("-");
  const path = join(folder, [kind, version, ...rest].join("-"));
  const before = readKept(path);
  if (before !== undefined) return before;
  const made = make();
  writeKept(path, made);
  return made;
}
