import { histogramEntryBytesOf, mibBytesOf } from "./layout.ts";
import { mergeDumps } from "./merge-dumps.ts";
import { readRawDumps, readSectionOffsets, readSegmentSection, walkDumps } from "./read.ts";
import type { RawSegment, RawVersion } from "./types.ts";
import { writeRaw } from "./write.ts";

/**
 * Where the contexts of a raw profile stand in its bytes, for those who go through many profiles and want no object
 * per context. All dumps are merged.
 */
export interface RawScan {
  readonly view: DataView;
  readonly version: RawVersion;
  readonly segments: readonly RawSegment[];
  /** Number of contexts. */
  readonly length: number;
  /** Offset of each context's MIB. */
  readonly blocks: Float64Array;
  /** Offset of the first PC of each context's stack. */
  readonly stacks: Float64Array;
  /** Number of PCs of each context's stack. */
  readonly depths: Uint32Array;
}

/**
 * Finds the contexts of a raw profile.
 *
 * @throws FormatError as {@link readRawDumps} and {@link mergeDumps}
 */
export function scanRaw(bytes: Uint8Array): RawScan {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers = walkDumps(bytes, view);
  return (
    (headers.length === 1 ? scanPlainDump(bytes, view) : undefined) ??
    // Anything but a single dump in the runtime's order is brought into that form.
    scanPlainDump(...withView(writeRaw(mergeDumps(readRawDumps(bytes)), 4)))!
  );
}

function withView(bytes: Uint8Array): [Uint8Array, DataView] {
  return [bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
}

/** Undefined unless there is one stack per block, in the same order, and no id comes twice. */
function scanPlainDump(bytes: Uint8Array, view: DataView): RawScan | undefined {
  const header = walkDumps(bytes, view)[0]!;
  const { segmentOffset, mibOffset, stackOffset } = readSectionOffsets(view, header);
  const { version, totalSize } = header;
  const count = readCount(view, mibOffset, stackOffset);
  if (count === undefined || readCount(view, stackOffset, totalSize) !== count) return undefined;
  const blocks = new Float64Array(count);
  const stacks = new Float64Array(count);
  const depths = new Uint32Array(count);
  const mibBytes = mibBytesOf(version);
  const entryBytes = histogramEntryBytesOf(version);
  let at = mibOffset + 8;
  let stackAt = stackOffset + 8;
  let lastId = -1;
  for (let context = 0; context < count; context++) {
    if (at + 8 + mibBytes > stackOffset || stackAt + 16 > totalSize) return undefined;
    const id = view.getUint32(at, true);
    if (id <= lastId || view.getUint32(at + 4, true) !== 0) return undefined;
    lastId = id;
    blocks[context] = at + 8;
    at += 8 + mibBytes;
    if (entryBytes > 0) at += entryBytes * view.getUint32(at - 12, true);
    if (view.getUint32(stackAt, true) !== id || view.getUint32(stackAt + 4, true) !== 0) return undefined;
    const depth = view.getUint32(stackAt + 8, true) + view.getUint32(stackAt + 12, true) * 2 ** 32;
    stackAt += 16;
    stacks[context] = stackAt;
    if (8 * depth > totalSize - stackAt) return undefined;
    depths[context] = depth;
    stackAt += 8 * depth;
  }
  if (at > stackOffset) return undefined;
  const segments = readSegmentSection(bytes, view, segmentOffset, mibOffset);
  return { view, version, segments, length: count, blocks, stacks, depths };
}

function readCount(view: DataView, start: number, end: number): number | undefined {
  if (end - start < 8) return undefined;
  const count = view.getBigUint64(start, true);
  return count * 16n > end - start ? undefined : Number(count);
}
