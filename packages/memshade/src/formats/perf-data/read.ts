import type { ByteSource } from "../../bytes/byte-source.ts";
import { FormatError } from "../../bytes/errors.ts";
import { MINIMUM_ATTR_BYTES, readAttribute } from "./attributes.ts";
import { type GrowingHeader, idsOf, readBuildIds, readFeature, readPerfHeader } from "./header.ts";
import { RECORD_HEADER_BYTES, RecordType } from "./layout.ts";
import { RecordDecoder } from "./records.ts";
import { type Piece, RoundOrder } from "./round-order.ts";
import { SampleDecoder } from "./samples.ts";
import type { PerfHeader, PerfRecord } from "./types.ts";
import { getU64, textAt, viewOf } from "./words.ts";

/** Decompresses one stream piece by piece: what came out of this piece and is not held back for the next. */
export type DecompressStream = (piece: Uint8Array) => Promise<Uint8Array>;

export interface PerfReadOptions {
  /** Begins to decompress a Zstandard stream; without it files recorded with `-z` cannot be read. */
  readonly zstd?: () => DecompressStream;
  /**
   * Called in the order of time. `header` is complete before the first sample. What a sample refers to is overwritten
   * after the call.
   */
  readonly onRecord: (record: PerfRecord, header: PerfHeader) => void;
}

export interface PerfDataSummary {
  readonly header: PerfHeader;
  /** What is damaged or missing, as sentences. */
  readonly gaps: readonly string[];
}

/** Bytes that are read at a time; samples are at most 64 KiB. */
const PIECE_BYTES = 2 ** 19;

/** The buffers that a file is read into, over and over. */
class PieceBuffers {
  readonly #source: ByteSource;
  readonly #buffers: (Piece & { readonly bytes: Uint8Array })[] = [];

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Reads a piece of the file into a buffer of which no record is needed any more. */
  read(offset: number, length: number): { bytes: Uint8Array; piece: Piece } {
    if (this.#source.readInto === undefined || length < PIECE_BYTES) {
      const bytes = this.#source.read(offset, length);
      return { bytes, piece: { view: viewOf(bytes), queued: 0 } };
    }
    let free = this.#buffers.find(({ queued }) => queued === 0);
    if (free === undefined) {
      const bytes = new Uint8Array(PIECE_BYTES);
      free = { bytes, view: viewOf(bytes), queued: 0 };
      this.#buffers.push(free);
    }
    return { bytes: this.#source.readInto(offset, free.bytes), piece: free };
  }
}

/**
 * Reads perf.data, as `perf record` writes it to a file or to a pipe, in memory that does not depend on its size.
 * A file that was cut off is read as far as it goes.
 *
 * @throws FormatError if it is not perf.data, or compressed and no decompressor was given
 */
export async function readPerfData(source: ByteSource, options: PerfReadOptions): Promise<PerfDataSummary> {
  const { header, start, end } = readPerfHeader(source);
  const reader = new RecordReader(header, options);
  const buffers = new PieceBuffers(source);
  let at = start;
  while (at < end) {
    const { bytes, piece } = buffers.read(at, Math.min(PIECE_BYTES, end - at));
    const used = await reader.read(bytes, at, piece);
    if (used === 0 || reader.isDamaged) break;
    at += used;
  }
  if (at < end && !reader.isDamaged) reader.gaps.push("The last record is incomplete: the file was cut off.");
  reader.finish();
  return { header, gaps: reader.gaps };
}

class RecordReader {
  readonly gaps: string[] = [];
  isDamaged = false;
  readonly #header: GrowingHeader;
  readonly #options: PerfReadOptions;
  readonly #order: RoundOrder;
  #samples: SampleDecoder;
  #records: RecordDecoder;
  #zstd: DecompressStream | undefined;
  /** The start of a record whose end is in the next compressed one. */
  #rest = new Uint8Array(0);
  #damagedSamples = 0;

  constructor(header: GrowingHeader, options: PerfReadOptions) {
    this.#header = header;
    this.#options = options;
    this.#samples = new SampleDecoder(header);
    this.#records = new RecordDecoder(header);
    this.#order = new RoundOrder((record) => this.#emit(record));
  }

  /** Takes the whole records at the start of a piece and returns how many bytes they are. */
  async read(bytes: Uint8Array, fileOffset: number, piece: Piece): Promise<number> {
    const view = viewOf(bytes);
    let at = 0;
    while (at + RECORD_HEADER_BYTES <= bytes.length) {
      const type = view.getUint32(at, true);
      const size = view.getUint16(at + 6, true);
      if (size < RECORD_HEADER_BYTES) {
        this.gaps.push(
          `What follows offset 0x${(fileOffset + at).toString(16)} is damaged: a record of ${size} bytes.`,
        );
        this.isDamaged = true;
        break;
      }
      if (at + size > bytes.length) break;
      if (type === RecordType.Sample) {
        this.#order.add(piece, at, size, this.#samples.time(view, at, size));
        at += size;
        continue;
      }
      const record = new DataView(bytes.buffer, bytes.byteOffset + at, size);
      if (type === RecordType.Compressed || type === RecordType.Compressed2) {
        await this.#readCompressed(record, fileOffset + at);
      } else if (type < RecordType.FirstUser) {
        this.#order.add(piece, at, size, this.#records.time(record));
      } else if (type === RecordType.FinishedRound) {
        this.#order.finishRound();
      } else {
        this.#takeHeader(record, type);
      }
      at += size + payloadBytes(record, type);
    }
    // Payloads behind a record may reach beyond this piece.
    return at;
  }

  finish(): void {
    this.#order.finish();
    if (this.#damagedSamples > 0) this.gaps.push(`${this.#damagedSamples} samples are damaged and left out.`);
  }

  async #readCompressed(record: DataView, offset: number): Promise<void> {
    if (this.#options.zstd === undefined) {
      throw new FormatError("unsupported", offset, "compressed record", "there is no decompressor for it");
    }
    this.#zstd ??= this.#options.zstd();
    const { buffer, byteOffset, byteLength } = record;
    const start = record.getUint32(0, true) === RecordType.Compressed2 ? 16 : RECORD_HEADER_BYTES;
    const length =
      start === 16 && byteLength >= 16 ? Math.min(byteLength - 16, getU64(record, 8)) : byteLength - start;
    let content: Uint8Array;
    try {
      content = await this.#zstd(new Uint8Array(buffer, byteOffset + start, Math.max(0, length)));
    } catch (error) {
      this.gaps.push(
        `What follows offset 0x${offset.toString(16)} cannot be decompressed: ${(error as Error).message}`,
      );
      this.isDamaged = true;
      return;
    }
    const whole = this.#rest.length === 0 ? content : concat(this.#rest, content);
    const used = await this.read(whole, offset, { view: viewOf(whole), queued: 0 });
    this.#rest = whole.slice(used);
  }

  /** Records that say what a file has in its header, in files written to a pipe. */
  #takeHeader(record: DataView, type: number): void {
    const body = new DataView(
      record.buffer,
      record.byteOffset + RECORD_HEADER_BYTES,
      record.byteLength - RECORD_HEADER_BYTES,
    );
    if (type === RecordType.HeaderAttr && body.byteLength >= MINIMUM_ATTR_BYTES) {
      const size = Math.min(body.getUint32(4, true) || MINIMUM_ATTR_BYTES, body.byteLength);
      const ids = new DataView(body.buffer, body.byteOffset + size, body.byteLength - size);
      this.#header.events.push(readAttribute(body, idsOf(ids)));
      this.#samples = new SampleDecoder(this.#header);
      this.#records = new RecordDecoder(this.#header);
    } else if (type === RecordType.HeaderBuildId) {
      readBuildIds(record, this.#header);
    } else if (type === RecordType.HeaderFeature && body.byteLength >= 8) {
      readFeature(
        getU64(body, 0),
        new DataView(body.buffer, body.byteOffset + 8, body.byteLength - 8),
        this.#header,
      );
    } else if (type === RecordType.EventUpdate && body.byteLength >= 24) {
      this.#renameEvent(body);
    }
  }

  /** PERF_EVENT_UPDATE__NAME: the name of the event with an id. */
  #renameEvent(body: DataView): void {
    if (getU64(body, 0) !== 2) return;
    const [id] = idsOf(new DataView(body.buffer, body.byteOffset + 8, 8));
    const index = this.#header.events.findIndex(({ ids }) => ids.includes(id!));
    if (index >= 0) this.#header.events[index] = { ...this.#header.events[index]!, name: textAt(body, 16) };
  }

  #emit(record: DataView): void {
    if (record.getUint32(0, true) !== RecordType.Sample) {
      const decoded = this.#records.decode(record);
      if (decoded !== undefined) this.#options.onRecord(decoded, this.#header);
      return;
    }
    if (this.#header.events.length === 0) return;
    let sample: PerfRecord;
    try {
      sample = this.#samples.decode(record);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#damagedSamples++;
      return;
    }
    this.#options.onRecord(sample, this.#header);
  }
}

/** Bytes that follow some records without being part of them. */
function payloadBytes(record: DataView, type: number): number {
  if (type === RecordType.AuxTrace && record.byteLength >= 16) return getU64(record, 8);
  if (type === RecordType.TracingData && record.byteLength >= 12)
    return Math.ceil(record.getUint32(8, true) / 8) * 8;
  return 0;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
}
