// As a module it would load all of the web's cryptography too.
const crypto = () => process.getBuiltinModule("node:crypto");

/** SHA-256 by the platform: large modules are hashed at a GB/s. */
export function nativeSha256(bytes: Uint8Array): Uint8Array {
  return crypto().createHash("sha256").update(bytes).digest();
}

/** The same, in hexadecimal digits. */
export function nativeSha256Hex(bytes: Uint8Array): string {
  return crypto().createHash("sha256").update(bytes).digest("hex");
}
