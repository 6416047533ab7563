import path from "node:path";
import { fileURLToPath } from "node:url";
import type { TraceMap } from "@jridgewell/trace-mapping";
import { readRegular } from "./file.ts";
import { traceableMap, tracing } from "./source-map-parts.ts";

const LARGEST_BYTES = 64 << 20;

/** Position in a script; lines and columns count from 1. */
export interface ScriptPlace {
  line: number;
  column: number;
}

/** Position in the original source, and the function's name there. */
export interface WrittenPlace extends ScriptPlace {
  file: string;
  name?: string | undefined;
}

/** Tools that generate the glue between modules and their callers, recognised by its text. */
const GLUE: readonly (readonly [string, RegExp])[] = [
  ["wasm-bindgen", /\b__wbindgen_\w+|\b__wbg_\w+/],
  ["Go", /\bgo\.importObject\b|"syscall\/js\.valueGet"/],
  ["AssemblyScript", /\b__(lower|lift)(String|Array|TypedArray)\b/],
  // The names occur in other scripts too, but only Emscripten's create the instance.
  ["Emscripten", /\b(HEAPU8|HEAP32)\b[\s\S]*\bWebAssembly\.|\bWebAssembly\.[\s\S]*\b(HEAPU8|HEAP32)\b/],
];

export type ReadText = (place: string) => string | undefined;

export class ScriptFile {
  /** Tool that generated the script to connect a module with its callers. */
  readonly glue: string | undefined;
  readonly #lines: readonly string[];
  readonly #map: TraceMap | undefined;

  /**
   * A file that cannot be read counts as empty.
   *
   * @param file its path, or the address of a page's script
   * @param read returns the text of a file or address
   */
  constructor(file: string, read: ReadText = readText) {
    const text = read(file) ?? "";
    this.glue = GLUE.find(([, pattern]) => pattern.test(text))?.[0];
    this.#map = readMap(file, text, read);
    this.#lines = this.#map === undefined ? [] : text.split("\n");
  }

  /**
   * Returns the original position of a place; undefined without a source map entry.
   *
   * @param name the engine's name of the function, and `start` its start, if known
   */
  written(
    { line, column }: ScriptPlace,
    name: string,
    start: ScriptPlace | undefined,
  ): WrittenPlace | undefined {
    if (this.#map === undefined) return undefined;
    const found = tracing().originalPositionFor(this.#map, { line, column: Math.max(0, column - 1) });
    if (found.source === null) return undefined;
    const own = start && this.#nameAt(start, name);
    return {
      file: found.source,
      line: found.line,
      column: found.column + 1,
      ...(own === undefined ? {} : { name: own }),
    };
  }

  /** Returns the name of a function before minification: the original of its own name at its start. */
  #nameAt({ line, column }: ScriptPlace, name: string): string | undefined {
    const [kind, called] = name.startsWith("new ") ? ["new ", name.slice(4)] : ["", name];
    const bare = called.slice(called.lastIndexOf(".") + 1);
    const text = this.#lines[line - 1] ?? "";
    // The name follows `function`, or precedes the parameters of an arrow.
    for (const at of positionsOf(bare, text, column - 1)) {
      const segment = tracing().traceSegment(this.#map!, line - 1, at);
      if (segment?.length !== 5 || segment[0] !== at) continue;
      const written = this.#map!.names[segment[4]];
      return written === undefined || written === bare ? undefined : kind + written;
    }
    return undefined;
  }
}

/** Positions of a name as a word around a position, later ones first. */
function positionsOf(name: string, text: string, position: number): number[] {
  const found: number[] = [];
  const end = position + LONGEST_FUNCTION_WORD;
  for (
    let at = text.indexOf(name, position - name.length - 2);
    at >= 0 && at <= end;
    at = text.indexOf(name, at + 1)
  )
    if (!/[\w$]/.test(`${text[at - 1] ?? ""}${text[at + name.length] ?? ""}`)) found.push(at);
  return found.sort((a, b) => Number(a < position) - Number(b < position) || a - b);
}

/** Longest text between a function's start and its name: `async function* `. */
const LONGEST_FUNCTION_WORD = 16;

export function readText(file: string): string | undefined {
  if (!path.isAbsolute(file)) return undefined;
  try {
    const bytes = readRegular(file);
    return bytes.length > LARGEST_BYTES ? undefined : bytes.toString();
  } catch {
    return undefined;
  }
}

const MAP_LINE = /^[ \t]*\/\/[#@] ?sourceMappingURL=(\S+)[ \t\r]*$/gm;

/** Returns the location of a script's source map, as its text gives it: inline as `data:`, or elsewhere. */
export function sourceMapUrl(text: string): string | undefined {
  return [...text.matchAll(MAP_LINE)].at(-1)?.[1];
}

function readMap(file: string, text: string, read: ReadText): TraceMap | undefined {
  const url = sourceMapUrl(text);
  if (url === undefined) return undefined;
  const inline = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url);
  try {
    const place = inline === null ? besides(file, url) : file;
    const json =
      inline === null
        ? read(place)!
        : inline[1] === undefined
          ? decodeURIComponent(inline[2]!)
          : Buffer.from(inline[2]!, "base64").toString();
    return traceableMap(json, place);
  } catch {
    return undefined;
  }
}

export function besides(file: string, url: string): string {
  if (/^https?:/.test(file)) return new URL(url, file).href;
  return url.startsWith("file:")
    ? fileURLToPath(url)
    : path.resolve(path.dirname(file), decodeURIComponent(url));
}
