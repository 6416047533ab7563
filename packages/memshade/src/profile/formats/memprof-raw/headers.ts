import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { Window } from "../../../ground/bytes/window.ts";
import type { RawVersion } from "../../model/raw-profile.ts";
import { HEADER_BYTES, isRawVersion, MAGIC, NEWEST_VERSION, OLDEST_VERSION } from "./layout.ts";

/** Name, in errors, of the bytes after the last dump of a file that are too few for another dump. */
export const REST = "rest of the file";

export interface DumpHeader {
  fileOffset: number;
  version: RawVersion;
  totalSize: number;
}

export function walkDumps(window: Window): DumpHeader[] {
  const { size } = window;
  if (size < MAGIC.length || !hasMagic(window, 0))
    throw new FormatError("bad-magic", 0, "memprof raw header", "not a MemProf raw profile (bad magic)");
  if (size < HEADER_BYTES)
    throw new FormatError("truncated", 0, "memprof raw header", `only ${size} of 48 bytes are there`);
  const headers: DumpHeader[] = [];
  for (let start = 0; start < size; ) {
    const header = readHeader(window, start);
    headers.push(header);
    start += header.totalSize;
  }
  return headers;
}

function readHeader(window: Window, start: number): DumpHeader {
  const remaining = window.size - start;
  if (remaining < HEADER_BYTES)
    throw new FormatError("malformed", start, REST, `${remaining} bytes after the last dump are not a dump`);
  const at = window.at(start, HEADER_BYTES);
  const { view } = window;
  const version = view.getBigUint64(at + 8, true);
  if (!isRawVersion(version))
    throw new FormatError(
      "unsupported-version",
      start + 8,
      "memprof raw header",
      `version ${version} is not supported (supported: ${OLDEST_VERSION} to ${NEWEST_VERSION})`,
    );
  const totalSize = view.getBigUint64(at + 16, true);
  if (totalSize < HEADER_BYTES || totalSize > remaining)
    throw new FormatError(
      "malformed",
      start + 16,
      "memprof raw header",
      `the dump says it is ${totalSize} bytes long, ${remaining} are there`,
    );
  if (!hasMagic(window, start))
    throw new FormatError("bad-magic", start, "memprof raw header", "no dump begins here (bad magic)");
  return { fileOffset: start, version: Number(version) as RawVersion, totalSize: Number(totalSize) };
}

export function lastVersion(source: ByteSource): RawVersion {
  return walkDumps(new Window(source)).at(-1)!.version;
}

export function readSectionOffsets(
  window: Window,
  { fileOffset, totalSize }: DumpHeader,
): { segmentOffset: number; mibOffset: number; stackOffset: number } {
  const at = window.at(fileOffset, HEADER_BYTES);
  const sectionOffsets = [24, 32, 40].map((field) => window.view.getBigUint64(at + field, true));
  let least = BigInt(HEADER_BYTES);
  sectionOffsets.forEach((offset, index) => {
    if (offset < least || offset > totalSize) {
      const name = ["SegmentOffset", "MIBOffset", "StackOffset"][index]!;
      throw new FormatError(
        "malformed",
        fileOffset + 24 + 8 * index,
        "memprof raw header",
        `${name} ${offset} is outside of the dump or out of order`,
      );
    }
    least = offset;
  });
  const [segmentOffset, mibOffset, stackOffset] = sectionOffsets.map(Number) as [number, number, number];
  return { segmentOffset, mibOffset, stackOffset };
}

function hasMagic(window: Window, start: number): boolean {
  const at = window.at(start, MAGIC.length);
  return MAGIC.every((byte, index) => window.view.getUint8(at + index) === byte);
}
