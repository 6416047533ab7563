import { createRequire } from "node:module";
import type { SectionedSourceMapInput, SourceMapInput, TraceMap } from "@jridgewell/trace-mapping";
import { FormatError } from "../../ground/bytes/errors.ts";

type TraceMapping = typeof import("@jridgewell/trace-mapping");

/** Parsed, a map takes at most some twenty times its size; maps of large programs have a quarter of this. */
const MOST_BYTES = 1 << 27;
/** Nesting limit for sections of an indexed map. Real maps do not nest them, and each level is a call. */
const MOST_LEVELS = 8;

let loaded: TraceMapping | undefined;

/** Returns the library for source maps, loaded with the first map, since few modules and scripts have one. */
export function tracing(): TraceMapping {
  loaded ??= createRequire(import.meta.url)("@jridgewell/trace-mapping") as TraceMapping;
  return loaded;
}

/** Source map, version 3, in which every field that readers use has the right type. */
export interface PlainMap {
  readonly sources: readonly (string | null)[];
  readonly sourceRoot?: string | undefined;
  readonly names: readonly string[];
  readonly mappings: string;
  readonly ignoreList: readonly number[];
}

/** Plain map with the position of its start, counted from 0; an indexed map has several. */
export interface MapSection {
  readonly line: number;
  readonly column: number;
  readonly map: PlainMap;
}

/**
 * Returns the maps of a source map: one, or those of its sections.
 *
 * @throws FormatError if it is damaged or no source map
 */
export function sourceMapSections(json: string): MapSection[] {
  if (json.length > MOST_BYTES) throw damaged(`of ${json.length >> 20} MiB it is too large`, "unsupported");
  let map: unknown;
  try {
    map = JSON.parse(json);
  } catch {
    throw damaged("it is not JSON");
  }
  return sectionsOf(map, { line: 0, column: 0 }, 0);
}

/**
 * Returns a source map in the library's form, with source paths relative to `place`.
 *
 * @throws FormatError as `sourceMapSections`
 */
export function traceableMap(json: string, place: string): TraceMap {
  const sections = sourceMapSections(json);
  const [first] = sections as [MapSection];
  const asInput = (map: PlainMap) => ({ version: 3, ...map }) as unknown as SourceMapInput;
  const isPlain = sections.length === 1 && first.line === 0 && first.column === 0;
  const indexed = sections.map(({ line, column, map }) => ({ offset: { line, column }, map: asInput(map) }));
  try {
    const map = isPlain
      ? new (tracing().TraceMap)(asInput(first.map), place)
      : new (tracing().AnyMap)(
          { version: 3, sections: indexed } as unknown as SectionedSourceMapInput,
          place,
        );
    tracing().decodedMappings(map);
    return map;
  } catch {
    throw damaged("its mappings cannot be read");
  }
}

function sectionsOf(map: unknown, start: { line: number; column: number }, level: number): MapSection[] {
  if (!isRecord(map)) throw damaged("it is no object");
  if (map.sections === undefined) return [{ ...start, map: plain(map) }];
  if (!Array.isArray(map.sections) || level > MOST_LEVELS) throw damaged("its sections are no list of maps");
  return map.sections.flatMap((section: unknown) => {
    const { offset, map: inner } = isRecord(section) ? section : {};
    if (!isRecord(offset) || !isCount(offset.line) || !isCount(offset.column))
      throw damaged("a section has no offset");
    const { line, column } = offset as { line: number; column: number };
    // The section's start column applies only to its first line.
    const inside = { line: start.line + line, column: line === 0 ? start.column + column : column };
    return sectionsOf(inner, inside, level + 1);
  });
}

function plain(map: Readonly<Record<string, unknown>>): PlainMap {
  const { sources, sourceRoot, names = [], mappings } = map;
  const ignoreList = map.ignoreList ?? map.x_google_ignoreList ?? [];
  if (typeof mappings !== "string") throw damaged("its mappings are no text");
  if (!isListOf(sources, (source) => source === null || typeof source === "string"))
    throw damaged("its sources are no list of paths");
  if (!isListOf(names, (name) => typeof name === "string")) throw damaged("its names are no list of names");
  if (!isListOf(ignoreList, isCount)) throw damaged("its ignoreList is no list of sources");
  if (sourceRoot !== undefined && sourceRoot !== null && typeof sourceRoot !== "string")
    throw damaged("its sourceRoot is no path");
  return {
    sources: sources as PlainMap["sources"],
    ...(typeof sourceRoot === "string" ? { sourceRoot } : {}),
    names: names as string[],
    mappings,
    ignoreList: ignoreList as number[],
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, fits: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function damaged(detail: string, kind: "malformed" | "unsupported" = "malformed"): FormatError {
  return new FormatError(kind, 0, "source map", detail);
}
