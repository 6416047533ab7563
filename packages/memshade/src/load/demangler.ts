import fs from "node:fs";
import { createRequire } from "node:module";
import { createDemangler, type Demangle, type DemanglerFiles } from "../symbolize/demangle.ts";

let loaded: Demangle | undefined;

/** The demangler of this process, compiled on first use. */
export function loadDemangler(): Demangle {
  if (loaded === undefined) {
    const require = createRequire(import.meta.url);
    const file = require.resolve("gecko-profiler-demangle/index_bg.wasm");
    loaded = createDemangler({
      module: new WebAssembly.Module(fs.readFileSync(file)),
      glue: require("gecko-profiler-demangle/index_bg.js") as DemanglerFiles["glue"],
    });
  }
  return loaded;
}
