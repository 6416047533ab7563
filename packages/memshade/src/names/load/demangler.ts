import fs from "node:fs";
import { createRequire } from "node:module";
import { createDemangler, type Demangle, type DemanglerFiles } from "../symbolize/demangle.ts";

let loaded: Demangle | undefined;

/** Returns the demangler of this process. Its library is compiled at the first name of Rust or MSVC. */
export function loadDemangler(): Demangle {
  loaded ??= createDemangler(() => {
    const require = createRequire(import.meta.url);
    const file = require.resolve("gecko-profiler-demangle/index_bg.wasm");
    return {
      module: new WebAssembly.Module(fs.readFileSync(file)),
      glue: require("gecko-profiler-demangle/index_bg.js") as DemanglerFiles["glue"],
    };
  });
  return loaded;
}
