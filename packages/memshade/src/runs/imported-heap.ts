import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { FormatError, UserError } from "../ground/bytes/errors.ts";
import { faultOf } from "../names/memprof/input-reader.ts";
import { isDhat, readDhat } from "../profile/formats/dhat/read-dhat.ts";
import { isHeapText, readHeapText } from "../profile/formats/heap-text/read-heap-text.ts";
import { isHeaptrack, readHeaptrack } from "../profile/formats/heaptrack/read-heaptrack.ts";
import { isPprof, readPprof } from "../profile/formats/pprof/read-pprof.ts";
import type { HeapProfile } from "../profile/model/heap-profile.ts";
import type { PlaceNames } from "../profile/model/imported-heap.ts";
import { MappedPlaces } from "./mapped-places.ts";

/** So much of a file tells what it is. */
const START_BYTES = 4096;
/** What packed files may become at most: more than anybody looks through, and less than a machine has. */
const MOST_BYTES = 2 ** 32;
/** Profiles are packed to a tenth or a thirtieth of their size; what was made to fill the memory, to a thousandth or less. */
const LARGEST_RATIO = 128;
const ALWAYS_ALLOWED = 2 ** 26;

type Read = (namesOf: PlaceNames) => HeapProfile;

/** A format of heap profiles that other tools write. */
interface ImportedFormat {
  /** By the first characters of a file, by its bytes, and by what it was packed with. */
  readonly is: (file: { start: string; bytes: Uint8Array; packed: Packing | undefined }) => boolean;
  /** @param named reads a profile whose places are addresses, with the names that objects on this machine have for them */
  readonly read: (bytes: Uint8Array, file: string, named: (read: Read) => HeapProfile) => HeapProfile;
}

/** A format is a row here; the first that fits is taken. */
const IMPORTED_FORMATS: readonly ImportedFormat[] = [
  { is: ({ start }) => isHeaptrack(start), read: readHeaptrack },
  { is: ({ start }) => isDhat(start), read: (bytes, file) => readDhat(textOf(file, bytes)) },
  {
    is: ({ start }) => isHeapText(start),
    read: (bytes, _file, named) => named((namesOf) => readHeapText(bytes, namesOf)),
  },
  {
    // Packed files of MemProf there are none.
    is: ({ bytes, packed }) => packed === "gzip" || isPprof(bytes),
    read: (bytes, _file, named) => named((namesOf) => readPprof(bytes, namesOf)),
  },
];

/**
 * The heap profile that another tool has written: DHAT, pprof, heaptrack, or a text of jemalloc or gperftools, packed by gzip or zstd
 * where it is. Undefined for other files.
 *
 * @param binaryPaths where to look for the program and its libraries, which name the places of files with addresses alone
 * @throws UserError in one line for one that is damaged, of another version, or of something else than the heap
 */
export function importedHeap(
  file: string,
  content: Uint8Array,
  binaryPaths?: readonly string[],
): HeapProfile | undefined {
  const packed = packingOf(content);
  const bytes = packed === undefined ? content : unpacked(file, content, packed);
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, START_BYTES));
  try {
    const format = IMPORTED_FORMATS.find(({ is }) => is({ start, bytes, packed }));
    return format?.read(bytes, file, (read) => named(binaryPaths, read));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    if (error.kind === "unsupported")
      throw new UserError(`${file} cannot be read: ${error.construct}: ${error.detail}`);
    throw new UserError(`${file} ${faultOf(error)}`);
  }
}

/** A profile whose places are named by objects on this machine. */
function named(binaryPaths: readonly string[] | undefined, read: Read): HeapProfile {
  const places = new MappedPlaces(binaryPaths);
  const profile = read((part, address) => places.framesAt(part, address));
  const { description } = profile;
  const notTracked = [...description.notTracked, ...places.sentences];
  return { ...profile, description: { ...description, notTracked } };
}

type Packing = "gzip" | "zstd";

function packingOf(bytes: Uint8Array): Packing | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  const isZstd = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
  return isZstd ? "zstd" : undefined;
}

function unpacked(file: string, bytes: Uint8Array, packing: Packing): Uint8Array {
  const unpack = packing === "gzip" ? gunzipSync : zstdDecompressSync;
  const most = Math.min(MOST_BYTES, Math.max(ALWAYS_ALLOWED, LARGEST_RATIO * bytes.length));
  try {
    return unpack(bytes, { maxOutputLength: most });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      code === "ERR_BUFFER_TOO_LARGE"
        ? `${file} cannot be read: unpacked it has more than ${most === MOST_BYTES ? "4 GiB" : `${most >> 20} MiB, which no profile of its size has`}`
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
