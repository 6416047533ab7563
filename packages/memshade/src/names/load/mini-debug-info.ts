import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type ObjectFile, openObject } from "../../code/objects/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";

/** Symbols of the largest programs take some tens of megabytes; a larger size is damage or malice. */
const LARGEST_CONTENT = 2 ** 28;

/**
 * Returns the object inside of `.gnu_debugdata` (`ObjectFile.miniDebugInfo`), with the symbols that were
 * stripped from the outer object; undefined if there is none or it is damaged.
 */
export function loadMiniDebugInfo(compressed: Uint8Array | undefined): ObjectFile | undefined {
  if (compressed === undefined) return undefined;
  try {
    return openObject(decompressXz(compressed, LARGEST_CONTENT));
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/**
 * Decompresses an `.xz` stream. The library is asynchronous, but frames are resolved synchronously. It therefore
 * runs in a separate process (some 60 ms), which is ended when its output is too large.
 *
 * @param mostBytes larger content is refused
 * @throws FormatError of kind malformed if the stream is damaged, and unsupported if its content is too large
 */
export function decompressXz(compressed: Uint8Array, mostBytes: number): Uint8Array<ArrayBuffer> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = fileURLToPath(new URL(`decompress-xz.${extension}`, import.meta.url));
  const { status, stdout, error } = spawnSync(process.execPath, [script], {
    input: compressed,
    maxBuffer: mostBytes,
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOBUFS")
    throw new FormatError("unsupported", 0, "xz stream", "the content is too large");
  if (status !== 0) throw new FormatError("malformed", 0, "xz stream", "it cannot be decompressed");
  return new Uint8Array(stdout);
}
