import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { WASTE_BRIEF_BASE64 } from "../waste-brief.generated.ts";
import { WASTE_FULL_BASE64 } from "../waste-full.generated.ts";

/** The compiled code of an engine, a WebAssembly module. Built from `tools/waste/assembly`. */
export function runtimeBytes(engine: "brief" | "full"): Uint8Array {
  return bytesOfBase64(engine === "full" ? WASTE_FULL_BASE64 : WASTE_BRIEF_BASE64);
}
