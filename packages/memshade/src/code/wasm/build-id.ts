import { sha256 } from "@noble/hashes/sha2.js";
import { hexOf } from "../../ground/bytes/numbers.ts";
import { ByteReader } from "../../ground/bytes/reader.ts";
import type { WasmModule } from "./types.ts";

const HASH_BYTES = 20;

/**
 * Returns the identity of the module in hexadecimal: the content of its custom section "build_id" (a
 * length-prefixed byte string), else the first 20 bytes of the SHA-256 of the whole file. `hash` may be a
 * faster SHA-256.
 */
export function buildId(module: WasmModule, hash: (bytes: Uint8Array) => Uint8Array = sha256): string {
  const written = writtenBuildId(module);
  return hexOf(written ?? contentId(module.bytes, hash));
}

export function contentId(bytes: Uint8Array, hash: (bytes: Uint8Array) => Uint8Array = sha256): Uint8Array {
  return hash(bytes).subarray(0, HASH_BYTES);
}

function writtenBuildId(module: WasmModule): Uint8Array | undefined {
  const section = module.customs.find(({ name }) => name === "build_id");
  if (section?.contentStart === undefined) return undefined;
  try {
    const reader = new ByteReader(module.bytes, section.contentStart, section.payloadEnd);
    const content = reader.view(reader.u32Leb());
    return content.length > 0 ? content : undefined;
  } catch {
    return undefined;
  }
}
