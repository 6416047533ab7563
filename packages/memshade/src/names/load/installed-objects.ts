import { readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { buildIdFileCandidates } from "../../code/objects/index.ts";
import { attempt } from "../../ground/bytes/dispensable.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { LIBRARY_FOLDERS, type LoadedObject, namesIn, tryLoad } from "./objects.ts";

/** Number of files per folder that are opened in search of build ids. */
const MOST_FILES = 10_000;

const LINKER_CONFIGURATION = "/etc/ld.so.conf.d";

/**
 * Finds objects by build id where systems usually have them. The files of library and program folders are opened
 * one after the other, then the places where tools keep copies by build id. Nothing is fetched.
 */
export class InstalledObjects {
  readonly #byBuildId = new Map<string, string>();
  readonly #files: Iterator<string>;

  /** @param folders searched first, without subfolders */
  constructor(folders: readonly string[]) {
    this.#files = filesIn([...folders, ...libraryFolders(), ...programFolders()]);
  }

  find(buildId: string): LoadedObject | undefined {
    return this.#scan(buildId) ?? findByBuildId(buildId);
  }

  #scan(buildId: string): LoadedObject | undefined {
    for (;;) {
      const found = this.#byBuildId.get(buildId);
      if (found !== undefined) return tryLoad(found);
      const { done, value: file } = this.#files.next();
      if (done === true) return undefined;
      const own = buildIdIn(file);
      if (own !== undefined && !this.#byBuildId.has(own)) this.#byBuildId.set(own, file);
    }
  }
}

/** Cache folders of debuginfod's clients. */
export function debuginfodCaches({ env } = process): string[] {
  const { DEBUGINFOD_CACHE_PATH: own, XDG_CACHE_HOME: caches } = env;
  if (own) return [own];
  const home = homedir();
  return [
    path.join(caches || path.join(home, ".cache"), "debuginfod_client"),
    path.join(home, ".debuginfod_client_cache"),
  ];
}

/**
 * Looks for copies that tools keep by build id. The last candidates have only debug information, with the addresses
 * of the object.
 */
function findByBuildId(buildId: string): LoadedObject | undefined {
  const inTwo = path.join(buildId.slice(0, 2), buildId.slice(2));
  const fetched = debuginfodCaches().map((cache) => path.join(cache, buildId));
  const candidates = [
    path.join("/usr/lib/.build-id", inTwo),
    path.join(homedir(), ".debug/.build-id", inTwo, "elf"),
    ...fetched.map((folder) => path.join(folder, "executable")),
    ...fetched.map((folder) => path.join(folder, "debuginfo")),
    ...buildIdFileCandidates(buildId),
  ];
  const file = candidates.find((candidate) => buildIdIn(candidate) === buildId);
  return file === undefined ? undefined : tryLoad(file);
}

/** Build ids of files opened before. Two compared profiles have most of their modules in common. */
const knownIds = new Map<string, string | undefined>();

function buildIdIn(file: string): string | undefined {
  const key = path.resolve(file);
  if (!knownIds.has(key)) knownIds.set(key, readBuildId(file));
  return knownIds.get(key);
}

/** Returns undefined for a damaged file or one that is no object, since the user did not name it. */
function readBuildId(file: string): string | undefined {
  try {
    return tryLoad(file)?.object.buildId;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

function libraryFolders({ env } = process): string[] {
  const configured = namesIn(LINKER_CONFIGURATION)
    .flatMap((name) => linesOf(path.join(LINKER_CONFIGURATION, name)))
    .filter((line) => line.startsWith("/"));
  return [...foldersOf(env.LD_LIBRARY_PATH), ...LIBRARY_FOLDERS, ...configured];
}

function programFolders({ env } = process): string[] {
  return foldersOf(env.PATH);
}

function foldersOf(list: string | undefined): string[] {
  return (list ?? "").split(":").filter((folder) => folder !== "");
}

/** Files of the folders, each folder once, in the order of their names. */
function* filesIn(folders: readonly string[]): Generator<string> {
  const seen = new Set<string>();
  for (const folder of folders) {
    const real = realPathOf(folder);
    if (real === undefined || seen.has(real)) continue;
    seen.add(real);
    for (const name of namesIn(real).slice(0, MOST_FILES)) yield path.join(folder, name);
  }
}

function realPathOf(folder: string): string | undefined {
  return attempt(() => realpathSync(folder), undefined);
}

function linesOf(file: string): string[] {
  return attempt(() => readFileSync(file, "utf8").split("\n"), []);
}
