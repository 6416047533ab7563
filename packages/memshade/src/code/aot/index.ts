export type { NativeCode } from "./native-code.ts";
export { compile } from "./native-code.ts";
