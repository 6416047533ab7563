import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import {
  functionGuid,
  heapProfileFromMemprof,
  type KnownFunction,
} from "../../../profile/formats/memprof/index.ts";
import { isIndexedProfile, readContainer } from "../../../profile/formats/memprof-indexed/index.ts";
import { isMemprofRaw } from "../../../profile/formats/memprof-raw/index.ts";
import { isMemprofYaml } from "../../../profile/formats/memprof-text/index.ts";
import { isMemshadeProfile } from "../../../profile/formats/memshade-profile/index.ts";
import { agreeing, counted } from "../../../profile/model/counted.ts";
import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { MIB_FIELDS } from "../../../profile/model/mib-fields.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { openFile } from "../../load/file.ts";
import { loadObject } from "../../load/objects.ts";
import { loadSymbolizer } from "../../load/symbolizer.ts";
import { InputMerger } from "../input-merger.ts";
import { explained, MAGIC_BYTES } from "../input-reader.ts";
import { rawHeapProfile } from "./raw-heap-profile.ts";

/** Inlined functions are found by looking at so many places of the code at most. */
const MOST_PLACES = 500_000;
const STEP_BYTES = 4;
const EXECUTABLE = 1;

/**
 * Names of functions for the GUIDs of an indexed profile, which has no names: from the debug information of binaries.
 *
 * @param wanted GUIDs; the search ends when all are found
 */
export function findFunctions(
  binaries: readonly string[],
  wanted: ReadonlySet<bigint>,
): ReadonlyMap<bigint, KnownFunction> {
  const found = new Map<bigint, KnownFunction>();
  for (const file of binaries) searchBinary(file, wanted, found);
  return found;
}

function searchBinary(file: string, wanted: ReadonlySet<bigint>, found: Map<bigint, KnownFunction>): void {
  const loaded = loadObject(file);
  const { object } = loaded;
  const symbolizer = loadSymbolizer(loaded, { useSymbolTable: false });
  const guids = new Map<string, bigint>();
  const lookAt = (address: number) => {
    for (const { linkageName: text, startFile, file: callFile, startLine } of symbolizer.frames(address)) {
      if (text === undefined || guids.has(text)) continue;
      const guid = functionGuid(text);
      guids.set(text, guid);
      if (wanted.has(guid)) found.set(guid, { name: text, file: startFile ?? callFile, startLine });
    }
  };
  const ranges =
    object.kind === "wasm"
      ? [{ address: 0, size: object.size }]
      : object.segments
          .filter(({ flags }) => (flags & EXECUTABLE) !== 0)
          .map(({ address, memorySize }) => ({ address, size: memorySize }));
  let left = MOST_PLACES;
  for (const { address, size } of ranges)
    for (let at = 0; at < size && left-- > 0 && found.size < wanted.size; at += STEP_BYTES)
      lookAt(address + at);
}

const LEFT_OUT = "Blocks that no code with debug information asked for are not in profiles of this form.";

/**
 * The heap profile in a raw file without a run, an indexed file, a memshade profile or YAML. Undefined for what is no
 * profile.
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
  // `--- contention` and its like are texts of gperftools and Go.
  const isYaml = isMemprofYaml(start) && !/^--- \w/.test(String.fromCharCode(...start));
  if (!isRaw && !isIndexedProfile(start) && !isMemshadeProfile(start) && !isYaml) return undefined;
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const binaries = binaryPaths.filter((path) => !isFolder(path));
  const isOfModules = isMemshadeProfile(start);
  const places = {
    binaries: isOfModules || isRaw ? binaries : [],
    searchPaths: isOfModules || isRaw ? binaryPaths.filter(isFolder) : [],
  };
  if (isRaw) return withFile(file, (source) => explained(file, () => rawHeapProfile(file, source, places)));
  const merger = new InputMerger(places, {
    fields: MIB_FIELDS,
    keepsSources: true,
    keepsUnresolved: true,
  });
  await merger.add({ path: file, modules: [] }, 0);
  const { profile, origin } = merger.take();
  const notTracked = isOfModules ? [] : [LEFT_OUT];
  if (isOfModules && origin.unmatched.length > 0) {
    const count = origin.unmatched.length;
    notTracked.push(`Frames in ${counted(count, "module")} without a binary are shown as [build id]+offset.`);
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
  if (profile.records.allocStack.length === 0 && profile.records.length === 0)
    notTracked.push("There is nothing in this profile.");
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
  return isIndexedProfile(start) ? withFile(file, (source) => readContainer(source).version) : 0;
}
