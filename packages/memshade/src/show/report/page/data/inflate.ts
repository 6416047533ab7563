/** Compression format; `deflate` ends with a checksum. */
export type DeflateFormat = "deflate-raw" | "deflate";

/**
 * Inflates bytes from base64, which may have white space around it. Rejects if the data is damaged or
 * truncated.
 */
export async function inflated(base64: string, format: DeflateFormat): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
