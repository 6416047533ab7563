import { FormatError } from "../bytes/errors.ts";
import { type ObjectFile, openObject } from "../objects/index.ts";
import { nodeDecompressors } from "./load-objects.ts";

/** Symbols of the largest programs take some tens of megabytes; more than this is damage or malice. */
const LARGEST_CONTENT = 2 ** 28;

/**
 * The object inside `.gnu_debugdata`, which has the symbols that were stripped from the one around it; undefined if
 * there is none or it is damaged.
 */
export async function loadMiniDebugInfo(object: ObjectFile): Promise<ObjectFile | undefined> {
  const compressed = object.miniDebugInfo;
  if (compressed === undefined) return undefined;
  try {
    return openObject(await decompressXz(compressed), nodeDecompressors);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** @throws FormatError if the bytes are not one xz stream, or become too many */
async function decompressXz(compressed: Uint8Array): Promise<Uint8Array> {
  const { default: xz } = await import("xz-decompress");
  const input = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(compressed);
      controller.close();
    },
  });
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of new xz.XzReadableStream(input)) {
      size += piece.length;
      if (size > LARGEST_CONTENT) break;
      pieces.push(piece);
    }
  } catch (error) {
    throw new FormatError("malformed", 0, ".gnu_debugdata", String(error));
  }
  if (size > LARGEST_CONTENT)
    throw new FormatError("unsupported", 0, ".gnu_debugdata", "the content is too large");
  return Buffer.concat(pieces);
}
