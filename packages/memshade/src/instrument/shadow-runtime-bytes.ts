import { SHADOW_RUNTIME_BASE64 } from "../runtime/shadow/runtime.generated.ts";

let bytes: Uint8Array | undefined;

/** The compiled shadow runtime, a WebAssembly module. Built from `runtime/shadow/assembly` by `npm run build`. */
export function shadowRuntimeBytes(): Uint8Array {
  bytes ??= Uint8Array.from(atob(SHADOW_RUNTIME_BASE64), (character) => character.charCodeAt(0));
  return bytes;
}
