import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readRegular } from "../../../names/load/file.ts";

const GLUE_FILE_LIMIT_BYTES = 8 << 20;
const FRAMES_READ = 40;

/** Folder of this package's own code, whose frames do not count: `src/`, or `dist/`, whose files lie side by side. */
const OWN_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../" : ".", import.meta.url),
);

/** The scripts that led to a call, innermost first: absolute paths, or `node:` names of Node's own. */
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
    // Error is frozen (--frozen-intrinsics): no names then.
  } finally {
    try {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    } catch {
      // As above.
    }
  }
  const scripts = names.map(toPath).filter((path) => path !== undefined && !path.startsWith(OWN_FOLDER));
  return [...new Set(scripts as string[])];
}

/** The path that a name stands for: that of a `file:` address, others as they are. Undefined for an address that is no path here. */
export function toPath(name: string | null | undefined): string | undefined {
  if (name === null || name === undefined) return undefined;
  if (!name.startsWith("file:")) return name;
  try {
    return fileURLToPath(name);
  } catch {
    return undefined;
  }
}

/** Node compiles modules of its own (the HTTP parser, the type stripper): they are not the program's. */
export function isNodeItself(scripts: readonly string[]): boolean {
  return scripts[0]?.startsWith("node:internal/deps/") ?? false;
}

const glueTexts = new Map<string, string>();

/**
 * Source text of the scripts that deal with WebAssembly: the JavaScript glue, in which the names of a module's
 * minified exports can be found.
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
    // Not a file: a script that was made at run time.
  }
  glueTexts.set(path, text);
  return text;
}
