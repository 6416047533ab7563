import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { WASTE_BRIEF_BASE64 } from "../waste-brief.generated.ts";
import { WASTE_FULL_BASE64 } from "../waste-full.generated.ts";
import { WASTE_GIVEN_BASE64 } from "../waste-given.generated.ts";
import { WASTE_WIDE_BASE64 } from "../waste-wide.generated.ts";
import type { SiteIds } from "./waste-layout.ts";

const BRIEF = { fixed: WASTE_BRIEF_BASE64, given: WASTE_GIVEN_BASE64, table: WASTE_WIDE_BASE64 } as const;

/** The compiled code of an engine, a WebAssembly module. Built from `tools/waste/assembly`. */
export function runtimeBytes(engine: "brief" | "full", ids: SiteIds): Uint8Array {
  return bytesOfBase64(engine === "full" ? WASTE_FULL_BASE64 : BRIEF[ids]);
}
