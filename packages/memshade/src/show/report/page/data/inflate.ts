/** How bytes were deflated; `deflate` has a checksum behind them. */
export type DeflateFormat = "deflate-raw" | "deflate";

/** The bytes that stand deflated in base64, with white space around it. Rejects where they are damaged or cut off. */
export async function inflated(base64: string, format: DeflateFormat): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
