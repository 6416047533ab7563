import { statSync } from "node:fs";
import { sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { besidesMemprof } from "../../profile/formats/memprof-indexed/index.ts";
import { openFile } from "../load/file.ts";
import type { MergeInput } from "./inputs.ts";

/**
 * Describes the data of an input that a merge would leave out: an indexed profile may have counters beside its
 * memory profile.
 */
export function omittedData({ path, bytes }: MergeInput): string[] {
  // The merge itself refuses an input that is neither a file nor a pipe.
  if (bytes === undefined && statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const source = bytes === undefined ? openFile(path) : { ...sourceOfBytes(bytes), close: () => {} };
  try {
    return besidesMemprof(source);
  } catch (error) {
    // Only indexed profiles have such data; the merge itself reports a damaged file.
    if (error instanceof FormatError) return [];
    throw error;
  } finally {
    source.close();
  }
}
