import { statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { readRegular } from "../load/file.ts";
import type { SourceReader } from "../report/terminal/common/source-report.ts";
import { mapPath, type PathMap } from "../symbolize/path-map.ts";

/** Larger files are not source that a person wrote. */
const LARGEST_SOURCE = 16 * 1024 * 1024;

/**
 * Where a recorded source file may lie here, the likeliest place first.
 *
 * @param folders those of the modules that may be built from it
 */
export function sourceCandidates(
  file: string,
  maps: readonly PathMap[],
  folders: readonly string[],
): readonly string[] {
  const place = mapPath(file, maps);
  return [
    ...(isAbsolute(place) ? [place] : [resolve(place), ...folders.map((from) => resolve(from, place))]),
    ...folders.map((from) => join(from, basename(place))),
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
