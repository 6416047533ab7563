import { readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import {
  type Architecture,
  buildIdFileCandidates,
  type DebugFilePlaces,
  type Decompressors,
  debugAltLinkCandidates,
  debugLinkCandidates,
  dwpCandidates,
  type ObjectFile,
  openObject,
} from "../../code/objects/index.ts";
import { attempt } from "../../ground/bytes/dispensable.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { fileSource, readWholeFile } from "./file.ts";

/** The module is loaded on demand: few files have compressed sections, and loading delays each start. */
const zlib = () => process.getBuiltinModule("node:zlib");

export const nodeDecompressors: Decompressors = {
  inflate: (bytes, size) => zlib().inflateSync(bytes, { maxOutputLength: Math.max(size, 1) }),
  zstd: (bytes, size) => zlib().zstdDecompressSync(bytes, { maxOutputLength: Math.max(size, 1) }),
};

export interface LoadedObject {
  readonly path: string;
  readonly object: ObjectFile;
}

/**
 * Opens an object file; sections are read on demand.
 *
 * @throws UserError in one line if the file does not exist or is no object
 */
export function loadObject(file: string): LoadedObject {
  try {
    return { path: file, object: openObject(fileSource(file), nodeDecompressors) };
  } catch (error) {
    throw error instanceof FormatError ? new UserError(`${file}: ${error.message}`) : error;
  }
}

export interface ObjectPlaces extends DebugFilePlaces {
  /** Folders or files that the user named, searched first. */
  readonly binaryPaths?: readonly string[];
  readonly debuginfodCaches?: readonly string[];
}

/** Object as a core, a profile or a run refers to it. */
export interface WantedObject {
  readonly path: string;
  /** Build id that the object must have, hexadecimal. For ids of 16 bytes see `fits`. */
  readonly buildId?: string | undefined;
  readonly architecture?: Architecture | undefined;
}

/** Reason why an object was not found, as the end of a sentence that begins with its path. */
export interface MissingObject {
  readonly missing: string;
}

/**
 * Folders in which common dynamic linkers find libraries by name. Crashpad's dumps have no paths of libraries, only
 * the names used for linking.
 */
export const LIBRARY_FOLDERS: readonly string[] = [
  "lib64",
  "lib/x86_64-linux-gnu",
  "lib/aarch64-linux-gnu",
  "lib",
].flatMap((folder) => [`/${folder}`, `/usr/${folder}`]);

const GUID_DIGITS = 32;

/** Number of files below a binary path that are opened in search of a build id. */
const MOST_FILES = 20_000;

/** Finds objects on this machine by path, base name, sysroot and build id. Results are cached. */
export class ObjectFinder {
  readonly #places: ObjectPlaces;
  readonly #found = new Map<string, LoadedObject | MissingObject>();
  #byBuildId: Map<string, string> | undefined;

  constructor(places: ObjectPlaces = {}) {
    this.#places = places;
  }

  find(wanted: WantedObject): LoadedObject | MissingObject {
    const key = `${wanted.buildId ?? ""} ${wanted.path}`;
    return entryOf(this.#found, key, () => this.#search(wanted));
  }

  #search({ path: wantedPath, buildId, architecture }: WantedObject): LoadedObject | MissingObject {
    let missing = "was not found";
    for (const candidate of this.#candidates(wantedPath, buildId)) {
      const loaded = tryLoad(candidate);
      if (loaded === undefined) continue;
      if (architecture !== undefined && loaded.object.architecture !== architecture) {
        missing = `was found as ${candidate}, which is for another machine`;
        continue;
      }
      if (buildId === undefined || fits(loaded.object.buildId, buildId)) return loaded;
      missing = `was found as ${candidate}, which is another build`;
    }
    const byBuildId = buildId === undefined ? undefined : this.#scanned(buildId);
    return byBuildId === undefined ? { missing } : loadObject(byBuildId);
  }

  *#candidates(wantedPath: string, buildId: string | undefined): Generator<string> {
    const { binaryPaths = [], sysroot } = this.#places;
    for (const place of binaryPaths) {
      if (isFile(place)) {
        if (path.basename(place) === path.basename(wantedPath)) yield place;
        continue;
      }
      yield path.join(place, wantedPath);
      yield path.join(place, path.basename(wantedPath));
      if (buildId !== undefined) yield* inBuildIdFolders(place, buildId);
    }
    if (sysroot !== undefined) yield path.join(sysroot, wantedPath);
    // The file at this path on this machine may be a different one; without a sysroot it is the best guess.
    if (sysroot === undefined || buildId !== undefined) yield wantedPath;
    if (buildId === undefined) return;
    for (const root of sysroot === undefined ? [""] : [sysroot, ""]) {
      if (!wantedPath.includes("/"))
        for (const folder of LIBRARY_FOLDERS) yield path.join(root, folder, wantedPath);
      yield* inBuildIdFolders(path.join(root, "/usr/lib"), buildId);
    }
    const copies = path.join(homedir(), ".debug/.build-id", buildId.slice(0, 2), buildId.slice(2));
    yield path.join(copies, wantedPath === "[vdso]" ? "vdso" : "elf");
  }

  #scanned(buildId: string): string | undefined {
    const fileByBuildId = this.#scan();
    return fileByBuildId.get(buildId) ?? [...fileByBuildId].find(([own]) => fits(own, buildId))?.[1];
  }

  /** Maps the build ids of all objects below the binary paths to files: the last resort for renamed files. */
  #scan(): ReadonlyMap<string, string> {
    if (this.#byBuildId === undefined) {
      this.#byBuildId = new Map();
      let remaining = MOST_FILES;
      for (const place of this.#places.binaryPaths ?? [])
        for (const file of filesBelow(place)) {
          if (remaining-- <= 0) break;
          const buildId = tryLoad(file)?.object.buildId;
          if (buildId !== undefined && !this.#byBuildId.has(buildId)) this.#byBuildId.set(buildId, file);
        }
    }
    return this.#byBuildId;
  }

  /** Finds the object with a build id, in the places where debug information is kept by build id. */
  findByBuildId(buildId: string): LoadedObject | undefined {
    const folders = (this.#places.binaryPaths ?? []).filter((place) => !isFile(place));
    return [
      ...folders.flatMap((place) => [...inBuildIdFolders(place, buildId)]),
      ...buildIdFileCandidates(buildId, this.#places),
      ...this.#cached(buildId),
    ]
      .map(tryLoad)
      .find((loaded) => loaded?.object.buildId === buildId);
  }

  /** Finds the object with the debug information of another one: by build id, else by its `.gnu_debuglink`. */
  findDebugFile({ path: objectPath, object }: LoadedObject): LoadedObject | undefined {
    const { buildId, debugLink } = object;
    const folders = (this.#places.binaryPaths ?? []).filter((place) => !isFile(place));
    if (buildId !== undefined) {
      const own = folders.flatMap((place) => [...inBuildIdFolders(place, buildId)]);
      const candidates = [...buildIdFileCandidates(buildId, this.#places), ...this.#cached(buildId)];
      for (const candidate of [...own, ...candidates]) {
        const loaded = tryLoad(candidate);
        if (loaded?.object.buildId === buildId && candidate !== objectPath) return loaded;
      }
    }
    if (debugLink === undefined) return undefined;
    const own = folders.map((place) => path.join(place, debugLink.name));
    for (const candidate of [...own, ...debugLinkCandidates(objectPath, debugLink.name, this.#places)]) {
      const loaded = tryLoad(candidate);
      if (loaded !== undefined && candidate !== objectPath && belongs(loaded, object)) return loaded;
    }
    return undefined;
  }

  /** Finds the package with the split debug information of an object, which may be beside its debug file. */
  findPackage(
    { path: objectPath }: LoadedObject,
    debugFile: LoadedObject | undefined,
  ): LoadedObject | undefined {
    const candidates = dwpCandidates(objectPath, debugFile?.path);
    const named = (this.#places.binaryPaths ?? []).flatMap((place) =>
      isFile(place) ? [place] : candidates.map((candidate) => path.join(place, path.basename(candidate))),
    );
    const wanted = new Set(candidates.map((candidate) => path.basename(candidate)));
    return [...named.filter((file) => wanted.has(path.basename(file))), ...candidates]
      .map(tryLoad)
      .find((loaded) => loaded !== undefined);
  }

  #cached(buildId: string): string[] {
    return (this.#places.debuginfodCaches ?? []).map((cache) => path.join(cache, buildId, "debuginfo"));
  }

  /** Finds the object with debug information shared by several objects (`.gnu_debugaltlink`, made by dwz). */
  findSharedDebugFile({ path: objectPath, object }: LoadedObject): LoadedObject | undefined {
    const link = object.debugAltLink;
    if (link === undefined) return undefined;
    return debugAltLinkCandidates(objectPath, link, this.#places)
      .map(tryLoad)
      .find((loaded) => loaded?.object.buildId === link.buildId);
  }
}

/** True if the file of `.gnu_debuglink` belongs to the object: by build id if both have one, else by checksum. */
function belongs(debugFile: LoadedObject, { buildId, debugLink }: ObjectFile): boolean {
  const other = debugFile.object.buildId;
  if (buildId !== undefined && other !== undefined) return buildId === other;
  return zlib().crc32(readWholeFile(debugFile.path)) === debugLink?.crc32;
}

/**
 * True if the build id is the wanted one. Minidumps have GUIDs instead, as for Windows: the first 16 bytes, or, for
 * objects without a build id, a sum of their code.
 */
function fits(own: string | undefined, wanted: string): boolean {
  if (wanted.length !== GUID_DIGITS) return own === wanted;
  return own === undefined || own.startsWith(wanted);
}

/** Build-id folders have executables as `ab/cdef…`, debug information as `ab/cdef….debug`. */
function* inBuildIdFolders(place: string, buildId: string): Generator<string> {
  const folder = path.join(place, ".build-id", buildId.slice(0, 2));
  const name = buildId.slice(2);
  const names =
    buildId.length === GUID_DIGITS ? namesIn(folder).filter((entry) => entry.startsWith(name)) : [name];
  for (const entry of names) {
    yield path.join(folder, entry);
    if (!entry.endsWith(".debug")) yield path.join(folder, `${entry}.debug`);
  }
}

export function tryLoad(file: string): LoadedObject | undefined {
  if (!isFile(file)) return undefined;
  try {
    return loadObject(file);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** Returns false on errors too, such as a folder without permission or an impossible name from a damaged dump. */
function isFile(file: string): boolean {
  return attempt(() => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false, false);
}

/** Names in a folder, sorted; empty if it is no folder or unreadable. */
export function namesIn(folder: string): string[] {
  return attempt(() => readdirSync(folder).sort(), []);
}

function filesBelow(place: string): string[] {
  if (isFile(place)) return [place];
  return attempt(
    () =>
      readdirSync(place, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .sort(),
    [],
  );
}
