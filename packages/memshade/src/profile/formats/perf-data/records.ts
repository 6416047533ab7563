import { MISC_MMAP_BUILD_ID, RecordType, SampleBit } from "./layout.ts";
import type { PerfEvent, PerfHeader, PerfRecord } from "./types.ts";
import { getU64, hexBytes, textAt } from "./words.ts";

/** Where the path stands in the two kinds of records of mappings. */
const MMAP_PATH = 40;
const MMAP2_PATH = 72;

/** Bytes of the sample id behind a record that is no sample. */
function sampleIdBytes({ sampleType, hasSampleIds }: PerfEvent): number {
  if (!hasSampleIds) return 0;
  const { Tid, Time, Id, StreamId, Cpu, Identifier } = SampleBit;
  return 8 * [Tid, Time, Id, StreamId, Cpu, Identifier].filter((bit) => sampleType & bit).length;
}

/** Decodes records that are no samples. The events of a file agree in what stands at the end of such records. */
export class RecordDecoder {
  readonly #header: PerfHeader;
  readonly #idBytes: number;
  constructor(header: PerfHeader) {
    this.#header = header;
    const [event] = header.events;
    this.#idBytes = event === undefined ? 0 : sampleIdBytes(event);
  }

  /** What a record says; undefined for what is of no interest, or too short. */
  decode(record: DataView): PerfRecord | undefined {
    const end = record.byteLength - this.#idBytes;
    switch (record.getUint32(0, true)) {
      case RecordType.Mmap:
        return this.#mapping(record, MMAP_PATH, end);
      case RecordType.Mmap2:
        return this.#mapping(record, MMAP2_PATH, end);
      case RecordType.Comm:
        if (end < 16) return undefined;
        return { kind: "comm", tid: record.getInt32(12, true), name: textAt(record, 16, end) };
      case RecordType.Fork:
        if (end < 24) return undefined;
        return { kind: "fork", tid: record.getInt32(16, true), parentTid: record.getInt32(20, true) };
      case RecordType.Lost:
        return end < 24 ? undefined : { kind: "lost", count: getU64(record, 16) };
      case RecordType.LostSamples:
        return end < 16 ? undefined : { kind: "lost", count: getU64(record, 8) };
      default:
        return undefined;
    }
  }

  #mapping(record: DataView, pathAt: number, end: number): PerfRecord | undefined {
    if (end < pathAt) return undefined;
    const path = textAt(record, pathAt, end);
    const hasBuildId = pathAt === MMAP2_PATH && (record.getUint16(4, true) & MISC_MMAP_BUILD_ID) !== 0;
    return {
      kind: "mmap",
      pid: record.getInt32(8, true),
      start: getU64(record, 16),
      length: getU64(record, 24),
      fileOffset: getU64(record, 32),
      path,
      buildId: hasBuildId
        ? hexBytes(record, 44, Math.min(20, record.getUint8(40)))
        : this.#header.buildIds.get(path),
    };
  }
}
