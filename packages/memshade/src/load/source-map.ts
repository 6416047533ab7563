import { createRequire } from "node:module";
import type { SectionedSourceMapInput, SourceMapInput, TraceMap } from "@jridgewell/trace-mapping";
import type { SourceMapLookup } from "../symbolize/symbolizer.ts";

type TraceMapping = typeof import("@jridgewell/trace-mapping");

/**
 * Reads a source map, version 3, indexed ones too; undefined if it is none. Columns are offsets in the module's file, and
 * everything is on the first line.
 */
export function readSourceMap(bytes: Uint8Array): SourceMapLookup | undefined {
  // Loaded when the first map is: few modules have one.
  const { AnyMap, originalPositionFor } = createRequire(import.meta.url)(
    "@jridgewell/trace-mapping",
  ) as TraceMapping;
  let map: TraceMap;
  try {
    map = new AnyMap(JSON.parse(new TextDecoder().decode(bytes)) as SourceMapInput | SectionedSourceMapInput);
  } catch {
    return undefined;
  }
  return (fileOffset) => {
    try {
      const { source, line, column } = originalPositionFor(map, { line: 1, column: fileOffset });
      return source === null ? undefined : { file: source, line, column: column + 1 };
    } catch {
      return undefined;
    }
  };
}
