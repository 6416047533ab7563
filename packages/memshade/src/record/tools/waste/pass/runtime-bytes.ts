import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { WASTE_PRECISE_BASE64 } from "../precise.generated.ts";
import { WASTE_SUMMARY_BASE64 } from "../summary.generated.ts";

/** The compiled runtime of a mode, a WebAssembly module. Built from `tools/waste/assembly`. */
export function runtimeBytes(engine: "brief" | "full"): Uint8Array {
  return bytesOfBase64(engine === "full" ? WASTE_PRECISE_BASE64 : WASTE_SUMMARY_BASE64);
}
