import { importsOf, type WasmModule } from "../../../../wasm/index.ts";

/** A literal of nothing but names, as Emscripten writes down what a module imports: `{a:___cxa_throw,b:invoke_vii}`. */
const NAMES = /\{\s*(?:["']?[\w$]+["']?\s*:\s*[\w$]+\s*,\s*)*["']?[\w$]+["']?\s*:\s*[\w$]+\s*,?\s*\}/g;
const ENTRY = /["']?([\w$]+)["']?\s*:\s*([\w$]+)/g;
/** Longest name that is taken for a minified one. */
const MINIFIED = 3;

/**
 * Names of a module's imported functions as its toolchain has them, by index: where they were minified, the JavaScript glue still
 * tells which is which, if its own names were not minified too.
 */
export function namesOfImports(module: WasmModule, glue = ""): string[] {
  const imports = importsOf(module, "function");
  const minified = imports.filter(({ field }) => field.length <= MINIFIED).map(({ field }) => field);
  if (minified.length === 0 || minified.length < imports.length / 2) return imports.map(({ field }) => field);
  for (const [literal] of glue.matchAll(NAMES)) {
    const names = new Map([...literal.matchAll(ENTRY)].map(([, key, name]) => [key, name]));
    if (minified.every((field) => names.has(field)))
      return imports.map(({ field }) => (names.get(field) ?? field).replace(/^_/, ""));
  }
  return imports.map(({ field }) => field);
}
