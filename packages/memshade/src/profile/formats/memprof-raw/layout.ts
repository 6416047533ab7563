import { FIRST_HISTOGRAM_TAG, MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import type { RawVersion } from "../../model/raw-profile.ts";

export const MAGIC = Uint8Array.of(0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6d, 0xff);

/** Header fields: Magic, Version, TotalSize, SegmentOffset, MIBOffset, StackOffset, eight bytes each. */
export const HEADER_BYTES = 48;

export const OLDEST_VERSION = 3;
export const NEWEST_VERSION = 5;

/** Segment fields: Start, End, Offset, BuildIdSize (u64 each), then the zero-filled build id. */
export const SEGMENT_BYTES = 64;
export const BUILD_ID_FIELD_BYTES = 32;

const FIELDS_WITHOUT_HISTOGRAM = MIB_FIELDS.filter(({ tag }) => tag < FIRST_HISTOGRAM_TAG);

export function mibFieldsOf(version: RawVersion): readonly MibField[] {
  return version === 3 ? FIELDS_WITHOUT_HISTOGRAM : MIB_FIELDS;
}

/** Returns the size of a MIB without stack id and histogram. */
export function mibBytesOf(version: RawVersion): number {
  return version === 3 ? 132 : 144;
}

/** Returns the size of one histogram entry: none in version 3, u64 in 4, an encoded u16 in 5. */
export function histogramEntryBytesOf(version: RawVersion): 0 | 2 | 8 {
  return version === 3 ? 0 : version === 4 ? 8 : 2;
}

export function isRawVersion(version: bigint | number): boolean {
  return version >= OLDEST_VERSION && version <= NEWEST_VERSION;
}

export function padTo8(size: number): number {
  return Math.ceil(size / 8) * 8;
}
