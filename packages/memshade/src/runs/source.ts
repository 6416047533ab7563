import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { readRegular } from "../names/load/file.ts";
import { mapPath, type PathMap } from "../names/symbolize/path-map.ts";
import type { SourceReader } from "../show/report/terminal/common/source-report.ts";

/** Larger files are not source that a person wrote. */
const LARGEST_SOURCE = 16 * 1024 * 1024;

/**
 * Where a recorded source file may lie here, the likeliest place first: where it was recorded or is mapped to, then what of its path
 * is there below a module's folder, or with a folder of its own below the working directory. It may have been built anywhere, on Windows too.
 *
 * @param folders those of the modules that may be built from it
 */
export function sourceCandidates(
  file: string,
  maps: readonly PathMap[],
  folders: readonly string[],
): readonly string[] {
  const place = mapPath(file, maps);
  const parts = place
    .replace(/^([a-z][a-z0-9+.-]+:\/\/|[A-Za-z]:)/, "")
    .split(/[\\/]/)
    .filter((part) => part !== "" && part !== "." && part !== "..");
  const ends = parts.map((_, first) => join(...parts.slice(first)));
  const [name] = ends.slice(-1);
  const inFolders = ends.slice(0, -1);
  return [
    ...(isAbsolute(place) ? [place] : [resolve(place), ...folders.map((from) => resolve(from, place))]),
    ...inFolders.flatMap((end) => folders.map((from) => join(from, end))),
    ...inFolders.map((end) => resolve(end)),
    ...(name === undefined ? [] : folders.map((from) => join(from, name))),
  ];
}

/** Reads source files of this machine: where they were recorded or are mapped to, or else beside one of the modules. */
export function createSourceReader(maps: readonly PathMap[], modules: readonly string[] = []): SourceReader {
  const folders = [...new Set(modules.map((path) => dirname(path)))];
  const known = new Map<string, readonly string[] | undefined>();
  return (file) => {
    if (!known.has(file)) known.set(file, firstLines(sourceCandidates(file, maps, folders)));
    return known.get(file);
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
