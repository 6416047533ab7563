import type { RawContext, RawProfile, RawSegment, RawVersion } from "../../model/raw-profile.ts";
import { encodeHistogramCount } from "./histogram.ts";
import {
  BUILD_ID_FIELD_BYTES,
  HEADER_BYTES,
  histogramEntryBytesOf,
  MAGIC,
  mibBytesOf,
  mibFieldsOf,
  padTo8,
  SEGMENT_BYTES,
} from "./layout.ts";

/**
 * Writes one dump of a raw profile. Dumps may be concatenated; readers merge them.
 *
 * Version 3 has no histograms. Version 5 rounds counts above 4095 up, by less than 1 in 2048, and caps them at
 * 134,184,960. The histogram pointer (field 27) is written as 0.
 *
 * @throws RangeError for a build id of more than 32 bytes, the size of its field
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { readRawDumps, writeRaw } from "memshade";
 *
 * const [dump] = readRawDumps(writeRaw({ segments: [], contexts: [] }, 5));
 * assert.equal(dump?.version, 5);
 * assert.deepEqual(dump?.stacks, []);
 * ```
 */
export function writeRaw(profile: RawProfile, version: RawVersion = 4): Uint8Array {
  const { segments, contexts } = profile;
  const mibOffset = HEADER_BYTES + 8 + segments.length * SEGMENT_BYTES;
  const mibSectionBytes = 8 + contexts.reduce((sum, context) => sum + mibEntryBytes(context, version), 0);
  const stackOffset = mibOffset + padTo8(mibSectionBytes);
  const totalSize = stackOffset + 8 + contexts.reduce((sum, { pcs }) => sum + 16 + 8 * pcs.length, 0);
  const writer = new Writer(totalSize);
  writer.writeBytes(MAGIC);
  for (const field of [version, totalSize, HEADER_BYTES, mibOffset, stackOffset])
    writer.writeU64(BigInt(field));
  writeSegments(writer, segments);
  writer.writeU64(BigInt(contexts.length));
  for (const context of contexts) writeMib(writer, context, version);
  writer.position = stackOffset;
  writer.writeU64(BigInt(contexts.length));
  for (const { stackId, pcs } of contexts) {
    writer.writeU64(stackId);
    writer.writeU64(BigInt(pcs.length));
    for (const pc of pcs) writer.writeU64(pc);
  }
  return writer.bytes;
}

function writeSegments(writer: Writer, segments: readonly RawSegment[]): void {
  writer.writeU64(BigInt(segments.length));
  for (const { start, end, offset, buildId } of segments) {
    if (buildId.length > BUILD_ID_FIELD_BYTES)
      throw new RangeError(`a build id of ${buildId.length} bytes does not fit the format (at most 32)`);
    writer.writeU64(start);
    writer.writeU64(end);
    writer.writeU64(offset);
    writer.writeU64(BigInt(buildId.length));
    writer.writeBytes(buildId);
    writer.position += BUILD_ID_FIELD_BYTES - buildId.length;
  }
}

function writeMib(writer: Writer, { stackId, mib }: RawContext, version: RawVersion): void {
  writer.writeU64(stackId);
  const histogram = mib.histogram ?? [];
  for (const field of mibFieldsOf(version))
    if (field.name === "accessHistogramSize") writer.writeU32(histogram.length);
    else if (field.name === "accessHistogram") writer.writeU64(0n);
    else if (field.bytes === 4) writer.writeU32(mib[field.name]);
    else writer.writeU64(mib[field.name]);
  if (version === 4) for (const count of histogram) writer.writeU64(count);
  else if (version === 5) for (const count of histogram) writer.writeU16(encodeHistogramCount(count));
}

function mibEntryBytes({ mib }: RawContext, version: RawVersion): number {
  return 8 + mibBytesOf(version) + (mib.histogram?.length ?? 0) * histogramEntryBytesOf(version);
}

class Writer {
  readonly bytes: Uint8Array;
  position = 0;
  readonly #view: DataView;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  writeBytes(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.position);
    this.position += bytes.length;
  }

  writeU16(value: number): void {
    this.#view.setUint16(this.position, value, true);
    this.position += 2;
  }

  writeU32(value: number): void {
    this.#view.setUint32(this.position, value, true);
    this.position += 4;
  }

  writeU64(value: bigint): void {
    this.#view.setBigUint64(this.position, value, true);
    this.position += 8;
  }
}
