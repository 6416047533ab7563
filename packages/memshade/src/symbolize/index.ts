export { createDemangler, type Demangle } from "./demangle.ts";
export { type FileRequest, keyOf, type ProvidedFile } from "./file-request.ts";
export type { Frame } from "./frame.ts";
export { mapPath, type PathMap, parsePathMap } from "./path-map.ts";
export { createRunSymbolizer } from "./run-functions.ts";
export { Symbolizer, type SymbolizerOptions } from "./symbolizer.ts";
export type { FunctionNames } from "./unit-frames.ts";
