import { createHash } from "node:crypto";

/** SHA-256 by the platform: large modules are hashed at a GB/s. */
export function nativeSha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
