/** A replacement for the start of paths, as of `--path-map FROM=TO`. */
export interface PathMap {
  readonly from: string;
  readonly to: string;
}

/** The path with the start replaced that the first fitting entry names. A start ends where a part of the path ends. */
export function mapPath(path: string, map: readonly PathMap[] = []): string {
  for (const { from, to } of map) {
    if (!path.startsWith(from)) continue;
    if (from.endsWith("/") || path.length === from.length || path[from.length] === "/") {
      return to + path.slice(from.length);
    }
  }
  return path;
}

/** Reads `FROM=TO`; undefined if it has no such form. */
export function parsePathMap(text: string): PathMap | undefined {
  const equals = text.indexOf("=");
  return equals <= 0 ? undefined : { from: text.slice(0, equals), to: text.slice(equals + 1) };
}
