import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { COMMON_PATH_BASE64 } from "../common-path.generated.ts";
import { SHADOW_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { HOSTED_RUNTIME_BASE64 } from "../runtime-hosted.generated.ts";
import { USUAL_RUNTIME_BASE64 } from "../runtime-usual.generated.ts";
import { USUAL_HOSTED_RUNTIME_BASE64 } from "../runtime-usual-hosted.generated.ts";

const decoded = new Map<string, Uint8Array>();

/**
 * The compiled shadow runtime, a WebAssembly module. Built from `tools/heap/assembly` by `npm run build`. `usual`:
 * for merged counters, the virtual clock and one instance alone, which takes less code. `hosted`: with what asks for the host's
 * stacks.
 */
export function shadowRuntimeBytes(usual: boolean, hosted: boolean): Uint8Array {
  if (hosted) return decode(usual ? USUAL_HOSTED_RUNTIME_BASE64 : HOSTED_RUNTIME_BASE64);
  return decode(usual ? USUAL_RUNTIME_BASE64 : SHADOW_RUNTIME_BASE64);
}

/** What is written into the hooks of allocation functions, for the usual profile. Imports as the runtime, and no more. */
export function commonPathBytes(): Uint8Array {
  return decode(COMMON_PATH_BASE64);
}

function decode(base64: string): Uint8Array {
  let bytes = decoded.get(base64);
  if (bytes === undefined) {
    bytes = bytesOfBase64(base64);
    decoded.set(base64, bytes);
  }
  return bytes;
}
