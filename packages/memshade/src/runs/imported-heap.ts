import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { FormatError, UserError } from "../bytes/errors.ts";
import { isDhat, readDhat } from "../formats/dhat/read-dhat.ts";
import { isHeaptrack, readHeaptrack } from "../formats/heaptrack/read-heaptrack.ts";
import { isPprof, readPprof } from "../formats/pprof/read-pprof.ts";
import { faultOf } from "../memprof/input-reader.ts";
import type { HeapProfile } from "../model/heap-profile.ts";

/** So much of a file tells what it is. */
const START_BYTES = 4096;
/** What packed files may become: more than anybody looks through, and less than a machine has. */
const MOST_BYTES = 2 ** 32;

/**
 * The heap profile that another tool has written: DHAT, pprof or heaptrack, packed by gzip or zstd where it is. Undefined for other
 * files.
 *
 * @throws UserError in one line for one that is damaged, of another version, or of something else than the heap
 */
export function importedHeap(file: string, content: Uint8Array): HeapProfile | undefined {
  const packed = packingOf(content);
  const bytes = packed === undefined ? content : unpacked(file, content, packed);
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, START_BYTES));
  try {
    if (isHeaptrack(start)) return readHeaptrack(bytes);
    if (isDhat(start)) return readDhat(textOf(file, bytes));
    // Packed files of MemProf there are none.
    return packed === "gzip" || isPprof(bytes) ? readPprof(bytes) : undefined;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    if (error.kind === "unsupported")
      throw new UserError(`${file} cannot be read: ${error.construct}: ${error.detail}`);
    throw new UserError(`${file} ${faultOf(error)}`);
  }
}

type Packing = "gzip" | "zstd";

function packingOf(bytes: Uint8Array): Packing | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  const isZstd = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
  return isZstd ? "zstd" : undefined;
}

function unpacked(file: string, bytes: Uint8Array, packing: Packing): Uint8Array {
  const unpack = packing === "gzip" ? gunzipSync : zstdDecompressSync;
  try {
    return unpack(bytes, { maxOutputLength: MOST_BYTES });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      code === "ERR_BUFFER_TOO_LARGE"
        ? `${file} cannot be read: unpacked it has more than 4 GiB`
        : `${file} is damaged: what ${packing} has packed ends early or is broken`,
    );
  }
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder().decode(bytes);
  } catch {
    throw new UserError(`${file} cannot be read: it is larger than a text can be here`);
  }
}
