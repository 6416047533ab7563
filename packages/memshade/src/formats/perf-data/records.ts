import { MISC_COMM_EXEC, MISC_MMAP_BUILD_ID, PROT_EXEC, RecordType, SampleBit } from "./layout.ts";
import type { PerfEvent, PerfHeader, PerfRecord } from "./types.ts";
import { getU64, hexBytes, textAt } from "./words.ts";

/** Bytes of the sample id behind a record that is no sample. */
function sampleIdBytes({ sampleType, hasSampleIds }: PerfEvent): number {
  if (!hasSampleIds) return 0;
  const { Tid, Time, Id, StreamId, Cpu, Identifier } = SampleBit;
  return 8 * [Tid, Time, Id, StreamId, Cpu, Identifier].filter((bit) => sampleType & bit).length;
}

/**
 * Decodes records that are no samples, in files with the events given. The events agree in what stands at the end of
 * such records.
 */
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
        return end < 40 ? undefined : this.#mapping(record, end);
      case RecordType.Mmap2:
        return end < 72 ? undefined : this.#mapping2(record, end);
      case RecordType.Comm: {
        if (end < 16) return undefined;
        const isExec = (record.getUint16(4, true) & MISC_COMM_EXEC) !== 0;
        return { kind: "comm", ...ids(record, 8), name: textAt(record, 16, end), isExec };
      }
      case RecordType.Fork:
      case RecordType.Exit: {
        if (end < 24) return undefined;
        const kind = record.getUint32(0, true) === RecordType.Fork ? "fork" : "exit";
        const [pid, parentPid, tid, parentTid] = [8, 12, 16, 20].map((at) => record.getInt32(at, true));
        return { kind, pid: pid!, parentPid: parentPid!, tid: tid!, parentTid: parentTid! };
      }
      case RecordType.Lost:
        return end < 24 ? undefined : { kind: "lost", count: getU64(record, 16) };
      case RecordType.LostSamples:
        return end < 16 ? undefined : { kind: "lost", count: getU64(record, 8) };
      default:
        return undefined;
    }
  }

  #mapping(record: DataView, end: number): PerfRecord {
    const path = textAt(record, 40, end);
    const buildId = this.#header.buildIds.get(path);
    // PERF_RECORD_MISC_MMAP_DATA: the mapping holds data.
    const isExecutable = (record.getUint16(4, true) & MISC_COMM_EXEC) === 0;
    return { kind: "mmap", ...ids(record, 8), ...rangeAt(record), path, buildId, isExecutable };
  }

  #mapping2(record: DataView, end: number): PerfRecord {
    const path = textAt(record, 72, end);
    const hasBuildId = (record.getUint16(4, true) & MISC_MMAP_BUILD_ID) !== 0;
    const buildId = hasBuildId
      ? hexBytes(record, 44, Math.min(20, record.getUint8(40)))
      : this.#header.buildIds.get(path);
    const isExecutable = (record.getUint32(64, true) & PROT_EXEC) !== 0;
    return { kind: "mmap", ...ids(record, 8), ...rangeAt(record), path, buildId, isExecutable };
  }
}

function ids(record: DataView, at: number): { pid: number; tid: number } {
  return { pid: record.getInt32(at, true), tid: record.getInt32(at + 4, true) };
}

function rangeAt(record: DataView): { start: number; length: number; fileOffset: number } {
  return { start: getU64(record, 16), length: getU64(record, 24), fileOffset: getU64(record, 32) };
}
