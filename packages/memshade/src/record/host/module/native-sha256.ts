// Loaded on demand, since importing the module would load all of the web's cryptography too.
const crypto = () => process.getBuiltinModule("node:crypto");

/** Computes SHA-256 by the platform, which hashes about a GB per second. */
export function nativeSha256(bytes: Uint8Array): Uint8Array {
  return crypto().createHash("sha256").update(bytes).digest();
}

export function nativeSha256Hex(bytes: Uint8Array): string {
  return crypto().createHash("sha256").update(bytes).digest("hex");
}
