import { createRequire } from "node:module";
import type { SectionedSourceMapInput, SourceMapInput, TraceMap } from "@jridgewell/trace-mapping";
import { partitionPoint } from "../bytes/partition-point.ts";
import type { SourceMapLookup, SourcePlace } from "../symbolize/symbolizer.ts";

type TraceMapping = typeof import("@jridgewell/trace-mapping");

/** AssemblyScript's compiler calls its own library so. */
function isCompilersLibrary({ file }: SourcePlace): boolean {
  return /(^|\/)~lib\//.test(file);
}

/**
 * Reads a source map, version 3, indexed ones too; undefined if it is none. Columns are offsets in the module's file, and
 * everything is on the first line.
 */
export function readSourceMap(bytes: Uint8Array): SourceMapLookup | undefined {
  // Loaded when the first map is: few modules have one.
  const { AnyMap, decodedMappings } = createRequire(import.meta.url)(
    "@jridgewell/trace-mapping",
  ) as TraceMapping;
  let map: TraceMap;
  let segments: ReturnType<typeof decodedMappings>[number];
  try {
    map = new AnyMap(JSON.parse(new TextDecoder().decode(bytes)) as SourceMapInput | SectionedSourceMapInput);
    segments = decodedMappings(map)[0] ?? [];
  } catch {
    return undefined;
  }
  const standIns = standInSources(map, segments);
  const placeOf = (at: number): SourcePlace | undefined => {
    const [, source, line, column] = segments[at]!;
    const file = source === undefined || standIns.has(source) ? undefined : map.resolvedSources[source];
    return file === undefined || file === null ? undefined : { file, line: line! + 1, column: column! + 1 };
  };
  return (fileOffset, from = fileOffset) => {
    const last = partitionPoint(0, segments.length, (at) => segments[at]![0] <= fileOffset) - 1;
    if (last < 0) return undefined;
    const earlier = (isWanted: (place: SourcePlace) => boolean): SourcePlace | undefined => {
      for (let at = last - 1; at >= 0 && segments[at]![0] >= from; at--) {
        const place = placeOf(at);
        if (place !== undefined && isWanted(place)) return { ...place, approximate: true };
      }
      return undefined;
    };
    const place = placeOf(last) ?? earlier(() => true);
    if (place === undefined || !isCompilersLibrary(place)) return place;
    const outer = earlier((other) => !isCompilersLibrary(other));
    return outer === undefined ? place : { ...place, outer };
  };
}

/** Sources to be ignored of which nothing but the first line is ever named: Kotlin's compiler writes one for all code whose source it does not have. */
function standInSources(
  map: TraceMap,
  segments: readonly (readonly [number, number?, number?, ...number[]])[],
): ReadonlySet<number> {
  const standIns = new Set(map.ignoreList ?? []);
  for (const [, source, line] of segments) if (line !== 0) standIns.delete(source!);
  return standIns;
}
