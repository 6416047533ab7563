import module from "node:module";
import type { SourceOf } from "../instance/host-stacks.ts";
import { toPath } from "../node/call-site.ts";

/**
 * Resolves a position to the author's source if Node made the script or has its source map. No file may have these
 * later.
 */
export const knownSource: SourceOf = (script, line, column) => {
  const map = module.findSourceMap(script) ?? module.findSourceMap(toPath(script) ?? script);
  if (map === undefined) return undefined;
  const origin = map.findOrigin(line, column);
  if (!("fileName" in origin) || origin.fileName === undefined) return undefined;
  const file = toPath(origin.fileName) ?? origin.fileName;
  const { lineNumber, columnNumber, name } = origin;
  return { file, line: lineNumber, column: columnNumber, ...(name ? { name } : {}) };
};
