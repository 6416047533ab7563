import { statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { readRegular } from "../names/load/file.ts";
import { mapPath, type PathMap } from "../names/symbolize/path-map.ts";
import type { SourceReader } from "../show/report/terminal/common/source-report.ts";

/** Largest source file. Larger files were not written by a person. */
const LARGEST_SOURCE = 16 * 1024 * 1024;

/** Paths of modules that may be built from source files. */
export interface ModulePlaces {
  readonly modules?: readonly string[];
  /** Files and folders from the user that contain the modules now. */
  readonly binaryPaths?: readonly string[] | undefined;
}

/**
 * Returns possible paths of a recorded source file on this machine, the most likely first: its recorded or
 * mapped path; the same distance from a moved module; ends of its path below a module's folder; ends with a
 * folder below the working directory. The recorded path may be from any system, including Windows.
 */
export function sourceCandidates(
  file: string,
  maps: readonly PathMap[],
  places: ModulePlaces,
): readonly string[] {
  const place = mapPath(file, maps);
  const folders = moduleFolders(places);
  const parts = place
    .replace(/^([a-z][a-z0-9+.-]+:\/\/|[A-Za-z]:)/, "")
    .split(/[\\/]/)
    .filter((part) => part !== "" && part !== "." && part !== "..");
  const ends = parts.map((_, first) => join(...parts.slice(first)));
  const [name] = ends.slice(-1);
  const inFolders = ends.slice(0, -1);
  return [
    ...(isAbsolute(place)
      ? [place, ...movedWithModule(file, places)]
      : [resolve(place), ...folders.map((from) => resolve(from, place))]),
    ...inFolders.flatMap((end) => folders.map((from) => join(from, end))),
    ...inFolders.map((end) => resolve(end)),
    ...(name === undefined ? [] : folders.map((from) => join(from, name))),
  ];
}

/** Returns the folders of modules, those from the user first. */
export function moduleFolders({ modules = [], binaryPaths = [] }: ModulePlaces): string[] {
  return [...new Set([...binaryPaths.map(folderOf), ...modules.map((path) => dirname(path))])];
}

function movedWithModule(file: string, { modules = [], binaryPaths = [] }: ModulePlaces): string[] {
  const before = [...new Set(modules.filter(isAbsolute).map((path) => dirname(path)))];
  return binaryPaths.flatMap((place) =>
    before.map((folder) => resolve(folderOf(place), relative(folder, file))),
  );
}

function folderOf(place: string): string {
  return statSync(place, { throwIfNoEntry: false })?.isFile() === true ? dirname(place) : place;
}

/** Returns a reader of source files on this machine, by their recorded or mapped paths or beside a module. */
export function createSourceReader(maps: readonly PathMap[], places: ModulePlaces = {}): SourceReader {
  const linesOfFile = new Map<string, readonly string[] | undefined>();
  return (file) => {
    if (!linesOfFile.has(file)) linesOfFile.set(file, firstLines(sourceCandidates(file, maps, places)));
    return linesOfFile.get(file);
  };
}

function firstLines(candidates: readonly string[]): string[] | undefined {
  for (const candidate of candidates) {
    const lines = readLines(candidate);
    if (lines !== undefined) return lines;
  }
  return undefined;
}

function readLines(file: string): string[] | undefined {
  try {
    const { size } = statSync(file);
    return size > LARGEST_SOURCE ? undefined : readRegular(file).toString().split(/\r?\n/);
  } catch {
    return undefined;
  }
}
