export type { NativeCode } from "./compile.ts";
export { compile } from "./compile.ts";
