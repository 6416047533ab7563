import module from "node:module";
import type { SourceOf } from "../instance/host-stacks.ts";
import { toPath } from "../node/call-site.ts";

/** Where the author wrote what runs, if Node itself has made the script or was given its source map: no file may have that later. */
export const knownSource: SourceOf = (script, line, column) => {
  const map = module.findSourceMap(script) ?? module.findSourceMap(toPath(script) ?? script);
  if (map === undefined) return undefined;
  const origin = map.findOrigin(line, column);
  if (!("fileName" in origin) || origin.fileName === undefined) return undefined;
  const file = toPath(origin.fileName) ?? origin.fileName;
  const { lineNumber, columnNumber, name } = origin;
  return { file, line: lineNumber, column: columnNumber, ...(name ? { name } : {}) };
};
