import { FormatError } from "../bytes/errors.ts";
import { decompressXz } from "../bytes/xz/decompress.ts";
import { openObject } from "./open-object.ts";
import type { ObjectFile } from "./types.ts";

/** Symbols of the largest programs take some tens of megabytes; more than this is damage or malice. */
const LARGEST_CONTENT = 2 ** 28;

/**
 * The object inside of `.gnu_debugdata` (`ObjectFile.miniDebugInfo`), which has the symbols that were stripped from the
 * one around it; undefined if there is none or it is damaged.
 */
export function openMiniDebugInfo(compressed: Uint8Array | undefined): ObjectFile | undefined {
  if (compressed === undefined) return undefined;
  try {
    return openObject(decompressXz(compressed, LARGEST_CONTENT));
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
