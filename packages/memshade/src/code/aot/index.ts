export { compile } from "./compile.ts";
export type { NativeCode } from "./native-code.ts";
