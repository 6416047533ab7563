import { statSync } from "node:fs";
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

/** Reads source files of this machine. */
export function createSourceReader(maps: readonly PathMap[]): SourceReader {
  const known = new Map<string, readonly string[] | undefined>();
  return (file) => {
    const place = mapPath(file, maps);
    if (!known.has(place)) known.set(place, readLines(place));
    return known.get(place);
  };
}

function readLines(file: string): string[] | undefined {
  try {
    const { size } = statSync(file);
    return size > LARGEST_SOURCE ? undefined : readRegular(file).toString().split(/\r?\n/);
  } catch {
    return undefined;
  }
}
