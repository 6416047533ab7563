import { type ByteSource, partOfSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { Window } from "../../../ground/bytes/window.ts";
import { walkDumps } from "./headers.ts";
import type { RawScan } from "./raw-scan.ts";
import { scanRaw } from "./scan.ts";

/**
 * The dumps of a raw file one by one, each with its own segments: those of several processes too, whose files were put
 * behind each other.
 *
 * @throws FormatError as {@link readRawDumps}
 */
export function scanDumps(source: ByteSource): RawScan[] {
  return walkDumps(new Window(source)).map(({ fileOffset, totalSize }) => {
    try {
      return scanRaw(partOfSource(source, fileOffset, totalSize));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new FormatError(error.kind, fileOffset + error.offset, error.construct, error.detail);
    }
  });
}
