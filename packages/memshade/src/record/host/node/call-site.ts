import { statSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import { readRegular } from "../../../names/load/file.ts";
import type { SourceOf } from "../instance/host-stacks.ts";

const GLUE_FILE_LIMIT_BYTES = 8 << 20;
const FRAMES_READ = 40;

/**
 * Folder of this package's own code, whose frames do not count: `src/`, or `dist/`, where all files are side by side.
 */
const OWN_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../" : ".", import.meta.url),
);

/** Returns the scripts that led to a call, innermost first: absolute paths, or `node:` names of Node's own. */
export function scriptsOnStack(): string[] {
  const { stackTraceLimit, prepareStackTrace } = Error;
  let names: (string | null | undefined)[] = [];
  try {
    Error.stackTraceLimit = FRAMES_READ;
    Error.prepareStackTrace = (_error, frames) => {
      names = frames.map((frame) => frame.getFileName() ?? frame.getScriptNameOrSourceURL());
      return "";
    };
    void new Error().stack;
  } catch {
    // Error is frozen (--frozen-intrinsics), so there are no names.
  } finally {
    try {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    } catch {}
  }
  const scripts = names.map(toPath).filter((path) => path !== undefined && !path.startsWith(OWN_FOLDER));
  return [...new Set(scripts as string[])];
}

/** Converts a `file:` address to a path; other names stay. Undefined for an address that is no path here. */
export function toPath(name: string | null | undefined): string | undefined {
  if (name === null || name === undefined) return undefined;
  if (!name.startsWith("file:")) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return undefined;
  }
}

/** True for modules that Node compiles for itself (the HTTP parser, the type stripper). */
export function isNodeItself(scripts: readonly string[]): boolean {
  return scripts[0]?.startsWith("node:internal/deps/") ?? false;
}

const glueTexts = new Map<string, string>();

/**
 * Returns the source text of the scripts that use WebAssembly: the JavaScript glue, which contains the names of a
 * module's minified exports.
 */
export function readGlue(scripts: readonly string[]): string {
  return scripts
    .map((path) => glueTexts.get(path) ?? rememberGlue(path))
    .filter((text) => text !== "")
    .join("\n");
}

function rememberGlue(path: string): string {
  let text = "";
  try {
    if (/\.[cm]?js$/.test(path) && statSync(path).size <= GLUE_FILE_LIMIT_BYTES) {
      const source = readRegular(path).toString();
      if (/wasm|WebAssembly/.test(source)) text = source;
    }
  } catch {
    // Not a file: a script that was created at run time.
  }
  glueTexts.set(path, text);
  return text;
}

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
