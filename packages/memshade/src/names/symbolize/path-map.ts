import { UserError } from "../../ground/bytes/errors.ts";

/** Folder of recorded paths and its replacement, as in `--path-map FROM=TO`. */
export interface PathMap {
  readonly from: string;
  readonly to: string;
}

/** Replaces the longest mapped folder at the start of a path. A folder matches whole components only. */
export function mapPath(path: string, maps: readonly PathMap[] = []): string {
  const fitting = maps.filter(
    ({ from }) => path === from || path.startsWith(from.endsWith("/") ? from : `${from}/`),
  );
  const best = fitting.reduce<PathMap | undefined>(
    (longest, map) => (longest !== undefined && longest.from.length >= map.from.length ? longest : map),
    undefined,
  );
  return best === undefined ? path : best.to + path.slice(best.from.length);
}

/** @throws UserError if the text is not FROM=TO */
export function parsePathMap(text: string): PathMap {
  const equals = text.indexOf("=");
  if (equals <= 0) throw new UserError(`--path-map takes FROM=TO, not "${text}"`);
  return { from: text.slice(0, equals), to: text.slice(equals + 1) };
}
