import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { toPath } from "./call-site.ts";

/** Folders with more entries than this are not looked through. */
const ENTRIES_LIMIT = 2000;

/**
 * Finds the file a module was loaded from: programs hand over bytes, people know files by name. Looked for by content
 * in the folders of the scripts that compiled it, the folders around them and the working directory.
 */
export function findModuleFile(
  bytes: Uint8Array,
  scripts: readonly string[],
  address: string | undefined,
  glue: string,
): string | null {
  if (address?.startsWith("file:")) return toPath(address) ?? null;
  const folders = new Set<string>();
  for (const script of scripts) {
    if (script.startsWith("node:")) continue;
    const folder = dirname(resolve(script));
    folders.add(folder);
    folders.add(dirname(folder));
  }
  folders.add(process.cwd());
  for (const folder of folders) {
    const found = wasmFilesIn(folder).filter((path) => hasContents(path, bytes));
    // Packages ship copies under several names; the glue knows one of them.
    if (found.length > 0) return found.find((path) => glue.includes(basename(path))) ?? found[0];
  }
  return null;
}

function wasmFilesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder);
    if (names.length > ENTRIES_LIMIT) return [];
    return names.filter((name) => name.endsWith(".wasm")).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function hasContents(path: string, bytes: Uint8Array): boolean {
  try {
    return statSync(path).size === bytes.length && Buffer.compare(readFileSync(path), bytes) === 0;
  } catch {
    return false;
  }
}
