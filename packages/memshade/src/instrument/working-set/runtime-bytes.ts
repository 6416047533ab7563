import { WORKING_SET_RUNTIME_BASE64 } from "../../runtime/shadow/working-set.generated.ts";

let bytes: Uint8Array | undefined;

/** The code of the working-set tool that runs inside the module. Built from `runtime/shadow/assembly/working-set`. */
export function workingSetRuntimeBytes(): Uint8Array {
  bytes ??= Uint8Array.from(atob(WORKING_SET_RUNTIME_BASE64), (character) => character.charCodeAt(0));
  return bytes;
}
