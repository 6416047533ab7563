import { FormatError } from "../../bytes/errors.ts";
import type { Mib } from "../../model/mib.ts";
import { zeroMib } from "../../model/mib-fields.ts";
import { decodeHistogramCount } from "./histogram.ts";
import {
  BUILD_ID_FIELD_BYTES,
  HEADER_BYTES,
  histogramEntryBytesOf,
  isRawVersion,
  MAGIC,
  mibBytesOf,
  mibFieldsOf,
  NEWEST_VERSION,
  OLDEST_VERSION,
  SEGMENT_BYTES,
} from "./layout.ts";
import type { RawDump, RawSegment, RawVersion } from "./types.ts";

/** Whether the bytes begin like a raw MemProf profile. */
export function isMemprofRaw(bytes: Uint8Array): boolean {
  return hasMagic(bytes, 0);
}

/**
 * All dumps of a raw file, each as it stands there.
 *
 * The whole file is walked before any dump is decoded, in the order of the reference reader: magic,
 * length, version of each dump, sum of their sizes.
 *
 * @throws FormatError of kind bad-magic, truncated, unsupported-version or malformed
 */
export function readRawDumps(bytes: Uint8Array): RawDump[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return walkDumps(bytes, view).map((header) => readDump(bytes, view, header));
}

export interface DumpHeader {
  fileOffset: number;
  version: RawVersion;
  totalSize: number;
}

/** The headers of all dumps, checked. */
export function walkDumps(bytes: Uint8Array, view: DataView): DumpHeader[] {
  if (!hasMagic(bytes, 0)) {
    throw new FormatError("bad-magic", 0, "memprof raw header", "not a MemProf raw profile (bad magic)");
  }
  if (bytes.length < HEADER_BYTES) {
    throw new FormatError("truncated", 0, "memprof raw header", `only ${bytes.length} of 48 bytes are there`);
  }
  const headers: DumpHeader[] = [];
  for (let start = 0; start < bytes.length; ) {
    const header = readHeader(bytes, view, start);
    headers.push(header);
    start += header.totalSize;
  }
  return headers;
}

function readHeader(bytes: Uint8Array, view: DataView, start: number): DumpHeader {
  const remaining = bytes.length - start;
  if (remaining < HEADER_BYTES) {
    // The reference reader takes such a rest for a header too and finds no version in it.
    throw new FormatError(
      "unsupported-version",
      start,
      "memprof raw header",
      `${remaining} bytes after the last dump are not a dump`,
    );
  }
  const version = view.getBigUint64(start + 8, true);
  if (!isRawVersion(version)) {
    throw new FormatError(
      "unsupported-version",
      start + 8,
      "memprof raw header",
      `version ${version} is not supported (supported: ${OLDEST_VERSION} to ${NEWEST_VERSION})`,
    );
  }
  const totalSize = view.getBigUint64(start + 16, true);
  if (totalSize < HEADER_BYTES || totalSize > remaining) {
    throw new FormatError(
      "malformed",
      start + 16,
      "memprof raw header",
      `the dump says it is ${totalSize} bytes long, ${remaining} are there`,
    );
  }
  if (!hasMagic(bytes, start)) {
    throw new FormatError("bad-magic", start, "memprof raw header", "no dump begins here (bad magic)");
  }
  return { fileOffset: start, version: Number(version) as RawVersion, totalSize: Number(totalSize) };
}

function readDump(bytes: Uint8Array, view: DataView, header: DumpHeader): RawDump {
  const { fileOffset, version, totalSize } = header;
  const { segmentOffset, mibOffset, stackOffset } = readSectionOffsets(view, header);
  const section = (name: string, start: number, end: number) =>
    new SectionReader(bytes, view, name, fileOffset + start, fileOffset + end);
  return {
    fileOffset,
    version,
    totalSize,
    segmentOffset,
    mibOffset,
    stackOffset,
    segments: readSegments(section("segment section", segmentOffset, mibOffset)),
    mibs: readMibs(section("MIB section", mibOffset, stackOffset), version),
    stacks: readStacks(section("stack section", stackOffset, totalSize)),
  };
}

/** Where the sections of a dump begin, relative to it. */
export function readSectionOffsets(
  view: DataView,
  { fileOffset, totalSize }: DumpHeader,
): { segmentOffset: number; mibOffset: number; stackOffset: number } {
  const sectionOffsets = [24, 32, 40].map((field) => view.getBigUint64(fileOffset + field, true));
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

/** The segments of a section. */
export function readSegmentSection(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
): RawSegment[] {
  return readSegments(new SectionReader(bytes, view, "segment section", start, end));
}

function readSegments(section: SectionReader): RawSegment[] {
  return section.readList(SEGMENT_BYTES, () => {
    const start = section.readU64();
    const end = section.readU64();
    const offset = section.readU64();
    const buildIdSize = section.readU64();
    if (buildIdSize > BUILD_ID_FIELD_BYTES) {
      throw section.malformed(`a build id of ${buildIdSize} bytes (at most ${BUILD_ID_FIELD_BYTES})`);
    }
    const buildId = section.readBytes(BUILD_ID_FIELD_BYTES).slice(0, Number(buildIdSize));
    return { start, end, offset, buildId };
  });
}

function readMibs(section: SectionReader, version: RawVersion): RawDump["mibs"] {
  const fields = mibFieldsOf(version);
  const entryBytes = histogramEntryBytesOf(version);
  return section.readList(8 + mibBytesOf(version), () => {
    const stackId = section.readU64();
    const mib: Mib = zeroMib();
    for (const field of fields) {
      if (field.bytes === 4) {
        mib[field.name] = section.readU32();
      } else {
        mib[field.name] = section.readU64();
      }
    }
    if (mib.accessHistogramSize > 0) {
      section.need(mib.accessHistogramSize * entryBytes, "access histogram");
      mib.histogram = Array.from({ length: mib.accessHistogramSize }, () =>
        entryBytes === 8 ? section.readU64() : decodeHistogramCount(section.readU16()),
      );
    }
    return { stackId, mib };
  });
}

function readStacks(section: SectionReader): RawDump["stacks"] {
  return section.readList(16, () => {
    const stackId = section.readU64();
    const pcCount = section.readU64();
    section.need(pcCount * 8n, "call stack");
    return { stackId, pcs: Array.from({ length: Number(pcCount) }, () => section.readU64()) };
  });
}

/** Reads forward inside one section and never past its end. */
class SectionReader {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly name: string;
  private readonly end: number;
  private position: number;

  constructor(bytes: Uint8Array, view: DataView, name: string, start: number, end: number) {
    this.bytes = bytes;
    this.view = view;
    this.name = name;
    this.position = start;
    this.end = end;
  }

  /** A u64 count, then that many items of at least `itemBytes` each. */
  readList<T>(itemBytes: number, readItem: () => T): T[] {
    const count = this.readU64();
    this.need(count * BigInt(itemBytes), `${count} entries`);
    return Array.from({ length: Number(count) }, readItem);
  }

  need(byteCount: number | bigint, what: string): void {
    if (byteCount > this.end - this.position) {
      throw this.malformed(`${what} of ${byteCount} bytes, but ${this.end - this.position} are left`);
    }
  }

  malformed(detail: string): FormatError {
    return new FormatError("malformed", this.position, this.name, detail);
  }

  readU16(): number {
    return this.view.getUint16(this.advance(2), true);
  }

  readU32(): number {
    return this.view.getUint32(this.advance(4), true);
  }

  readU64(): bigint {
    return this.view.getBigUint64(this.advance(8), true);
  }

  readBytes(byteCount: number): Uint8Array {
    const start = this.advance(byteCount);
    return this.bytes.subarray(start, start + byteCount);
  }

  private advance(byteCount: number): number {
    this.need(byteCount, "a field");
    const start = this.position;
    this.position += byteCount;
    return start;
  }
}

function hasMagic(bytes: Uint8Array, start: number): boolean {
  return MAGIC.every((byte, index) => bytes[start + index] === byte);
}
