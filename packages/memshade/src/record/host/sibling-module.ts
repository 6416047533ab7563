import { readFileSync } from "node:fs";
import { Script } from "node:vm";

/**
 * Returns the URL of the module `name` beside `from`, with the extension of the sources or of the build.
 * @param built extension of the build
 */
export function siblingModule(from: string, name: string, built = "js"): URL {
  return new URL(`${name}.${from.endsWith(".ts") ? "ts" : built}`, from);
}

// Copies of functions that programs may replace.
const [readFile, BuiltScript] = [readFileSync, Script];

/**
 * Compiles a script of the build, as a function of some names. Node's `require`, which programs may replace, is not used.
 * @param code compiled earlier, which V8 takes if it fits
 */
export function builtScript(filename: string, names: readonly string[], code?: Uint8Array) {
  // Built files are ASCII.
  const text = `(function (${names.join()}) {${readFile(filename, "latin1")}\n})`;
  const cachedData = code && Buffer.from(code.buffer, code.byteOffset, code.byteLength);
  const script = new BuiltScript(text, { filename, ...(cachedData && { cachedData }) });
  return { script, run: script.runInThisContext() as (...values: unknown[]) => void };
}

/** Modules whose functions memshade replaces for the program. */
const REPLACED = /^node:(?:child_process|module|process|vm|worker_threads)$/;

/** Returns a module of Node, as `require` for built scripts. Functions that the program replaces later stay as they are. */
export function builtInModule(name: string): unknown {
  const module = process.getBuiltinModule(name) as object;
  return REPLACED.test(name) ? module : Object.defineProperties({}, Object.getOwnPropertyDescriptors(module));
}
