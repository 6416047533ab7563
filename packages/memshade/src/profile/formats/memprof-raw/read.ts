import { sourceOfBytes } from "../../../ground/bytes/byte-source.ts";
import { Window } from "../../../ground/bytes/window.ts";
import type { Mib } from "../../model/mib.ts";
import { zeroMib } from "../../model/mib-fields.ts";
import type { RawDump, RawSegment, RawVersion } from "../../model/raw-profile.ts";
import { type DumpHeader, readSectionOffsets, walkDumps } from "./headers.ts";
import { decodeHistogramCount } from "./histogram.ts";
import {
  BUILD_ID_FIELD_BYTES,
  histogramEntryBytesOf,
  MAGIC,
  mibBytesOf,
  mibFieldsOf,
  SEGMENT_BYTES,
} from "./layout.ts";
import { SectionReader } from "./section-reader.ts";

/** Returns true if the bytes begin like a raw MemProf profile. */
export function isMemprofRaw(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

/**
 * Reads all dumps of a raw file, unmerged.
 *
 * All headers are checked before any dump is decoded, in the order of the reference reader: magic, length, version of
 * each dump, sum of their sizes.
 *
 * @throws FormatError of kind bad-magic, truncated, unsupported-version or malformed
 */
export function readRawDumps(bytes: Uint8Array): RawDump[] {
  const window = new Window(sourceOfBytes(bytes));
  return walkDumps(window).map((header) => readDump(window, header));
}

function readDump(window: Window, header: DumpHeader): RawDump {
  const { fileOffset, version, totalSize } = header;
  const { segmentOffset, mibOffset, stackOffset } = readSectionOffsets(window, header);
  const section = (name: string, start: number, end: number) =>
    new SectionReader(window, name, fileOffset + start, fileOffset + end);
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

export function readSegments(section: SectionReader): RawSegment[] {
  return section.readList(SEGMENT_BYTES, () => {
    const start = section.readU64();
    const end = section.readU64();
    const offset = section.readU64();
    const buildIdSize = section.readU64();
    if (buildIdSize > BUILD_ID_FIELD_BYTES)
      throw section.malformed(`a build id of ${buildIdSize} bytes (at most ${BUILD_ID_FIELD_BYTES})`);
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
    for (const field of fields)
      if (field.bytes === 4) mib[field.name] = section.readU32();
      else mib[field.name] = section.readU64();
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
