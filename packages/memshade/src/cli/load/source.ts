import { statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { UserError } from "../../bytes/errors.ts";
import { readRegular } from "../../load/file.ts";
import type { SourceReader } from "../../report/terminal/common/source-report.ts";

/** Larger files are not source that a person wrote. */
const LARGEST_SOURCE = 16 * 1024 * 1024;

/** A folder of recorded paths and where it lies on this machine. */
export interface PathMap {
  readonly from: string;
  readonly to: string;
}

/** @throws UserError if the text is not FROM=TO */
export function parsePathMap(text: string): PathMap {
  const equals = text.indexOf("=");
  if (equals <= 0) throw new UserError(`--path-map takes FROM=TO, not "${text}"`);
  return { from: text.slice(0, equals), to: text.slice(equals + 1) };
}

/** The recorded path `file` with the longest mapped folder at its start replaced. */
export function mapPath(file: string, maps: readonly PathMap[]): string {
  const fitting = maps.filter(
    ({ from }) => file === from || file.startsWith(from.endsWith("/") ? from : `${from}/`),
  );
  const best = fitting.reduce<PathMap | undefined>(
    (longest, map) => (longest !== undefined && longest.from.length >= map.from.length ? longest : map),
    undefined,
  );
  return best === undefined ? file : best.to + file.slice(best.from.length);
}

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
