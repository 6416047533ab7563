import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ByteSource } from "../bytes/byte-source.ts";
import { UserError } from "../bytes/errors.ts";
import { heapProfileFromMemprof } from "../formats/memprof/index.ts";
import { isIndexedProfile, readContainer } from "../formats/memprof-indexed/index.ts";
import { isMemprofRaw, lastVersion } from "../formats/memprof-raw/index.ts";
import { isMemprofYaml } from "../formats/memprof-text/index.ts";
import { isMemshadeProfile } from "../formats/memshade-profile/index.ts";
import { loadDemangler } from "../load/demangler.ts";
import { openFile } from "../load/file.ts";
import { agreeing, counted } from "../model/counted.ts";
import type { HeapProfile } from "../model/heap-profile.ts";
import { MIB_FIELDS } from "../model/mib-fields.ts";
import { InputMerger } from "./input-merger.ts";
import { MAGIC_BYTES } from "./input-reader.ts";
import { findFunctions } from "./known-functions.ts";

/**
 * The heap profile in an indexed file, a memshade profile or YAML; or in a raw file of a native program for which
 * binaries are given. Undefined for other raw files, and for what is no profile.
 *
 * @param binaryPaths programs and libraries, and folders with such
 * @throws UserError naming the file
 */
export async function memprofHeapProfile(
  file: string,
  binaryPaths: readonly string[] = [],
): Promise<HeapProfile | undefined> {
  const start = startOf(file);
  const isRaw = isMemprofRaw(start);
  if (isRaw && binaryPaths.length === 0) return undefined;
  if (!isRaw && !isIndexedProfile(start) && !isMemshadeProfile(start) && !isMemprofYaml(start))
    return undefined;
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const binaries = binaryPaths.filter((path) => !isFolder(path));
  const isOfModules = isRaw || isMemshadeProfile(start);
  const places = {
    binaries: isOfModules ? binaries : [],
    searchPaths: isOfModules ? binaryPaths.filter(isFolder) : [],
  };
  const merger = new InputMerger(places, { fields: MIB_FIELDS, keepsSources: true });
  await merger.add({ path: file, modules: [] }, 0);
  const { profile, origin, dropped } = merger.take();
  const notTracked: string[] = [];
  if (dropped > 0) {
    notTracked.push(
      `${counted(dropped, "call path is left out: none of its frames is", "call paths are left out: none of their frames is")} in a binary that was given.`,
    );
  }
  if (isOfModules && origin.unmatched.length > 0) {
    const count = origin.unmatched.length;
    notTracked.push(`Frames in ${counted(count, "module")} without a binary are left out.`);
  }
  const nameless = new Set(
    [...profile.frames.guid].filter((_, frame) => (profile.frames.source?.name[frame] ?? -1) < 0),
  );
  const withNames = isOfModules
    ? binaries
    : [...binaries, ...binaryPaths.filter(isFolder).flatMap(objectsIn)];
  const functions = nameless.size === 0 ? new Map() : findFunctions(withNames, nameless);
  const unnamed = nameless.size - functions.size;
  if (unnamed > 0) {
    const known = counted(unnamed, "function is known by its GUID", "functions are known by their GUID");
    notTracked.push(
      withNames.length === 0
        ? `${known} alone: --binary-path names the program whose debug information has names and lines.`
        : `${known} alone: what --binary-path names has no debug information for ${agreeing(unnamed, "it", "them")}.`,
    );
  }
  if (profile.records.allocStack.length === 0 && profile.records.length === 0) {
    notTracked.push("There is nothing in this profile.");
  }
  return heapProfileFromMemprof(profile, {
    version: versionOf(file, start),
    notTracked,
    demangle: loadDemangler(),
    functionOf: (guid) => functions.get(guid),
  });
}

/** Executables, libraries and modules anywhere below a folder. */
function objectsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(isObject)
    .sort();
}

function isObject(file: string): boolean {
  try {
    const magic = new TextDecoder("latin1").decode(startOf(file).subarray(0, 4));
    return magic === "\u007fELF" || magic === "\0asm";
  } catch (error) {
    // A file that nobody named may be one that cannot be read.
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** The first bytes of a file; the rest is read where it is needed, and never at once. */
function startOf(file: string): Uint8Array {
  return withFile(file, (source) => source.read(0, MAGIC_BYTES));
}

function withFile<T>(file: string, use: (source: ByteSource) => T): T {
  const source = openFile(file);
  try {
    return use(source);
  } finally {
    source.close();
  }
}

function versionOf(file: string, start: Uint8Array): number {
  if (isMemprofRaw(start)) return withFile(file, (source) => lastVersion(source));
  return isIndexedProfile(start) ? withFile(file, (source) => readContainer(source).version) : 0;
}
