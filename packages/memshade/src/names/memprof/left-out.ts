import { statSync } from "node:fs";
import { sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { besidesMemprof } from "../../profile/formats/memprof-indexed/index.ts";
import { openFile } from "../load/file.ts";
import type { MergeInput } from "./inputs.ts";

/** What a merge would leave out of an input, in words: an indexed profile may have counters beside its memory profile. */
export function leftOutOf({ path, bytes }: MergeInput): string[] {
  // Whoever reads what is neither a file nor a pipe refuses it.
  if (bytes === undefined && statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const source = bytes === undefined ? openFile(path) : { ...sourceOfBytes(bytes), close: () => {} };
  try {
    return besidesMemprof(source);
  } catch (error) {
    // Other formats have nothing beside, and whoever reads a damaged file says so.
    if (error instanceof FormatError) return [];
    throw error;
  } finally {
    source.close();
  }
}
