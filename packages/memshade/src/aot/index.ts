export { type CompileOptions, compile } from "./compile.ts";
export type { CodeFunction, CodeRelocation, FrameRow, NativeCode } from "./native-code.ts";
export { SUBSET } from "./subset.ts";
export { UnsupportedCode } from "./unsupported.ts";
