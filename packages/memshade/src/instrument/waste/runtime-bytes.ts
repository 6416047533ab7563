import { bytesOfBase64 } from "../../bytes/base64.ts";
import { WASTE_BRIEF_BASE64 } from "../../runtime/shadow/waste-brief.generated.ts";
import { WASTE_FULL_BASE64 } from "../../runtime/shadow/waste-full.generated.ts";
import { WASTE_GIVEN_BASE64 } from "../../runtime/shadow/waste-given.generated.ts";
import { WASTE_WIDE_BASE64 } from "../../runtime/shadow/waste-wide.generated.ts";

/** The compiled code of an engine, a WebAssembly module; `byFrames`: it tells contexts apart with one id per byte. Built from `runtime/shadow/assembly/waste`. */
export function runtimeBytes(engine: "brief" | "full", ids: number, byFrames: boolean): Uint8Array {
  if (engine === "full") return bytesOfBase64(WASTE_FULL_BASE64);
  if (byFrames && ids === 16) return bytesOfBase64(WASTE_GIVEN_BASE64);
  return bytesOfBase64(ids === 16 ? WASTE_BRIEF_BASE64 : WASTE_WIDE_BASE64);
}
