interface WithBuffer {
  readonly Buffer?: { from(text: string, encoding: "base64"): Uint8Array<ArrayBuffer> };
}

/** Decodes embedded modules, natively if the platform can, since short commands would notice the delay. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const { Buffer } = globalThis as WithBuffer;
  if (Buffer === undefined) return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  // A Buffer's methods differ from those of the same name in Uint8Array.
  const { buffer, byteOffset, length } = Buffer.from(text, "base64");
  return new Uint8Array(buffer, byteOffset, length);
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096)
    text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(text);
}
