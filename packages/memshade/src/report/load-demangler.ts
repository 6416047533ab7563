import fs from "node:fs";
import { createRequire } from "node:module";
import { createDemangler, type Demangle } from "../symbolize/demangle.ts";

let loaded: Demangle | undefined;

/** The demangler of this process, compiled on first use. */
export function loadDemangler(): Demangle {
  if (loaded === undefined) {
    const file = createRequire(import.meta.url).resolve("gecko-profiler-demangle/index_bg.wasm");
    loaded = createDemangler(new WebAssembly.Module(fs.readFileSync(file)));
  }
  return loaded;
}
