export { createDemangler, type Demangle } from "./demangle.ts";
export { createRunSymbolizer } from "./run-functions.ts";
