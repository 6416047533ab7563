import type { AllocatorRole } from "./plan.ts";

/*
 * Emscripten and wasm-bindgen shorten export names, but their JavaScript still identifies each export. Only patterns of
 * generated glue are read; the text is never executed.
 */

/** Export names that the glue uses in a role, most specific first. */
export type GlueNames = ReadonlyMap<AllocatorRole, readonly string[]>;

const C_NAMES = [
  "malloc",
  "calloc",
  "realloc",
  "free",
  "memalign",
  "aligned_alloc",
  "posix_memalign",
  "emscripten_builtin_malloc",
  "emscripten_builtin_free",
  "emscripten_builtin_memalign",
] as const;

const ROLE_OF: Readonly<Record<(typeof C_NAMES)[number], AllocatorRole>> = {
  malloc: "malloc",
  calloc: "calloc",
  realloc: "realloc",
  free: "free",
  memalign: "memalign",
  aligned_alloc: "aligned_alloc",
  posix_memalign: "posix_memalign",
  emscripten_builtin_malloc: "malloc",
  emscripten_builtin_free: "free",
  emscripten_builtin_memalign: "memalign",
};

const LONGEST_ASSIGNMENT = 240;
const LARGEST_GLUE = 32 * 1024 * 1024;

export function readGlueNames(source: string): GlueNames {
  const names = new Map<AllocatorRole, string[]>();
  const add = (role: AllocatorRole, name: string) => {
    const list = names.get(role) ?? [];
    if (!list.includes(name)) list.push(name);
    names.set(role, list);
  };
  const text = source.length > LARGEST_GLUE ? source.slice(0, LARGEST_GLUE) : source;
  for (const name of C_NAMES) readAssignments(text, `_${name}`, (exported) => add(ROLE_OF[name], exported));
  readBindgen(text, add);
  return names;
}

/**
 * Reads Emscripten's bindings of an export, all of the form `_malloc = ... <export>`:
 *
 *     _malloc=c.Ia                                        k._malloc = c["Ia"]
 *     _malloc = Module["_malloc"] = wasmExports["malloc"]
 *     _malloc = (Module['_malloc'] = (a0) => (_malloc = Module['_malloc'] = wasmExports['s'])(a0))
 *     _malloc = Module["_malloc"] = function(){return(_malloc=Module["_malloc"]=Module["asm"]["f"]).apply(...)}
 *     _malloc = Module["_malloc"] = createExportWrapper("malloc", 1)
 *
 * Adds every property name and wrapper argument of the statement; the caller checks which one is an export.
 */
function readAssignments(text: string, variable: string, add: (exported: string) => void): void {
  for (let at = text.indexOf(variable); at >= 0; at = text.indexOf(variable, at + 1)) {
    if (at > 0 && /[\w$]/.test(text[at - 1])) continue;
    const rest = text.slice(at + variable.length, at + variable.length + LONGEST_ASSIGNMENT);
    const assignment = /^\s*=(?![=>])\s*([^;\n]*)/.exec(rest);
    if (assignment === null) continue;
    // Minified glue chains assignments with commas; the next one starts with another name and a "=".
    const statement = assignment[1].split(/,(?=\s*[\w$.]+\s*=(?![=>]))/)[0];
    for (const match of statement.matchAll(
      /createExportWrapper\(\s*["']([^"']+)["']|\.\s*([\w$]+)|\[\s*["']([^"']+)["']\s*\]/g,
    ))
      add(match[1] ?? match[2] ?? match[3]);
  }
}

/**
 * Reads wasm-bindgen's calls: `passStringToWasm0(s, wasm.M, wasm.R)` and `wasm.F(pointer, length * 4, 4)`.
 *
 * Glue may contain its module as megabytes of base64. A pattern must therefore begin at a punctuation mark or at the
 * start of a word. Otherwise each character of a long word would be a start, and matching would take quadratic time.
 */
function readBindgen(text: string, add: (role: AllocatorRole, exported: string) => void): void {
  for (const match of text.matchAll(/\(\s*[\w$.]+\s*,\s*([\w$]+)\.([\w$]+)\s*,\s*\1\.([\w$]+)\s*\)/g)) {
    add("wbindgen_malloc", match[2]);
    add("wbindgen_realloc", match[3]);
  }
  for (const match of text.matchAll(/(?<![\w$])pass\w+ToWasm\d*\(\s*[\w$.]+\s*,\s*[\w$]+\.([\w$]+)\s*\)/g))
    add("wbindgen_malloc", match[1]);
  for (const match of text.matchAll(
    /(?<=[\w$])\.([\w$]+)\(\s*[\w$]+\s*,\s*[\w$]+(?:\s*\*\s*\d+)?\s*,\s*\d+\s*\)/g,
  ))
    add("wbindgen_free", match[1]);
}
