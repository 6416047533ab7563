export { createDemangler, type Demangle } from "./demangle.ts";
export { createRunSymbolizer } from "./run-functions.ts";
export { type Frame, Symbolizer, type SymbolizerOptions } from "./symbolizer.ts";
