import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { counted } from "../../model/counted.ts";
import { MINIMUM_ATTR_BYTES, readAttribute } from "./attributes.ts";
import { type GrowingHeader, idsOf, readBuildIds, readFeature, readPerfHeader } from "./header.ts";
import { RECORD_HEADER_BYTES, RecordType } from "./layout.ts";
import { RecordDecoder } from "./records.ts";
import { PerfRecords } from "./records-wasm.ts";
import type { PerfHeader, PerfRecord } from "./types.ts";
import { getU64, textAt } from "./words.ts";

/** How far a step of decompression came. */
export interface Decompressed {
  /** Bytes of the input that are done with. */
  readonly read: number;
  /** Bytes of the room that were filled. */
  readonly written: number;
}

/**
 * Decompresses one stream, step by step: goes on with `input`, and fills `room`. When it comes back, either all of the input
 * has been read, or the room is full, or a frame ends, or nothing at all could be done.
 */
export type Decompressor = (input: Uint8Array, room: Uint8Array) => Decompressed | Promise<Decompressed>;

/** Takes samples where they are read. */
export interface SampleTaker {
  /** What is called in place of `PerfRecordsWasm.next`: may leave out records that need not be handed on. */
  readonly wasm: { nextRecord(): number; readonly damagedSamples: WebAssembly.Global<"i32"> };
  /** What the header says of events has changed. */
  setEvents(): void;
  /** It says more about build ids. */
  setBuildIds(): void;
}

export interface PerfReadOptions {
  /** Begins to decompress a Zstandard stream; without it files recorded with `-z` cannot be read. */
  readonly zstd?: () => Decompressor;
  /**
   * Called in the order of time. `header` is complete before the first sample. What a sample refers to is overwritten
   * after the call.
   */
  readonly onRecord: (record: PerfRecord, header: PerfHeader) => void;
  /** For what takes samples inside WebAssembly, out of the memory that they are read into. */
  readonly takeSamples?: (records: PerfRecords, header: PerfHeader) => SampleTaker;
}

export interface PerfDataSummary {
  readonly header: PerfHeader;
  /** What is damaged or missing, as sentences. */
  readonly gaps: readonly string[];
}

/** Bytes that are read at a time; records are at most 64 KiB. */
const PIECE_BYTES = 2 ** 19;
/** Records are decompressed to pieces of this size, each until less is left than the longest record. */
const ROOM_BYTES = 2 ** 19;
const LONGEST_RECORD = 2 ** 16;

/** A piece that is filled bit by bit. */
interface DecompressionRoom {
  readonly piece: number;
  /** Where the first record begins that was not taken yet. */
  taken: number;
  /** How far the piece is filled. */
  filled: number;
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
  let at = start;
  while (at < end) {
    const used = await reader.readPiece(source, at, Math.min(PIECE_BYTES, end - at));
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
  readonly #memory = new PerfRecords();
  readonly #wasm = this.#memory.wasm;
  readonly #taker: SampleTaker | undefined;
  readonly #next: () => number;
  #records: RecordDecoder;
  #zstd: Decompressor | undefined;
  /** The piece that records are decompressed to; none in front of the first. */
  #room: DecompressionRoom | undefined;
  #damagedSamples = 0;

  constructor(header: GrowingHeader, options: PerfReadOptions) {
    this.#header = header;
    this.#options = options;
    this.#memory.setEvents(header);
    this.#records = new RecordDecoder(header);
    this.#taker = options.takeSamples?.(this.#memory, header);
    this.#next = this.#taker?.wasm.nextRecord ?? this.#wasm.next;
  }

  /** Reads a piece of the file, and takes the whole records at its start. Returns how many bytes they are. */
  async readPiece(source: ByteSource, offset: number, length: number): Promise<number> {
    const piece = this.#wasm.takePiece(length);
    const room = this.#roomOf(piece, length);
    const bytes = source.readInto?.(offset, room) ?? source.read(offset, length);
    if (bytes.buffer !== room.buffer) room.set(bytes);
    return this.#takePiece(piece, bytes.length, offset);
  }

  #roomOf(piece: number, length: number): Uint8Array {
    return new Uint8Array(this.#wasm.memory.buffer, this.#wasm.pieceAddress(piece), length);
  }

  /** Takes the whole records of a piece, and returns how many bytes they are, with what may follow the last of them. */
  async #takePiece(piece: number, length: number, fileOffset: number): Promise<number> {
    const wasm = this.#wasm;
    const start = wasm.pieceAddress(piece);
    wasm.enter(piece, start, start + length);
    let used = 0;
    for (;;) {
      const address = this.#next();
      if (address === 0) break;
      const { view } = this.#memory;
      const type = view.getUint32(address, true);
      if (type < RecordType.FirstUser) {
        this.#emit(address, type);
        continue;
      }
      const position = wasm.position.value;
      const record = new DataView(view.buffer, address, view.getUint16(address + 6, true));
      used = position - start + payloadBytes(record, type);
      if (type === RecordType.Compressed || type === RecordType.Compressed2) {
        await this.#readCompressed(record, fileOffset + address - start);
        wasm.resume(piece, position, start + length);
      } else {
        this.#takeHeader(record, type);
      }
      // What follows may reach beyond this piece.
      if (this.isDamaged || used !== position - start) {
        wasm.leave(piece);
        return used;
      }
    }
    used = wasm.position.value - start;
    this.#lookForDamage(start + used, start + length, fileOffset + used);
    wasm.leave(piece);
    return used;
  }

  /** Whether the records end in a damaged one, in front of the end of a piece. */
  #lookForDamage(address: number, end: number, fileOffset: number): void {
    if (address + RECORD_HEADER_BYTES > end) return;
    const size = this.#memory.view.getUint16(address + 6, true);
    if (size >= RECORD_HEADER_BYTES) return;
    this.gaps.push(`What follows offset 0x${fileOffset.toString(16)} is damaged: a record of ${size} bytes.`);
    this.isDamaged = true;
  }

  finish(): void {
    this.#wasm.finish();
    for (let address = this.#next(); address !== 0; address = this.#next())
      this.#emit(address, this.#memory.view.getUint32(address, true));
    this.#damagedSamples += this.#taker?.wasm.damagedSamples.value ?? 0;
    if (this.#damagedSamples > 0)
      this.gaps.push(`${counted(this.#damagedSamples, "sample is", "samples are")} damaged and left out.`);
  }

  async #readCompressed(record: DataView, offset: number): Promise<void> {
    if (this.#options.zstd === undefined)
      throw new FormatError("unsupported", offset, "compressed record", "there is no decompressor for it");
    this.#zstd ??= this.#options.zstd();
    const start = record.getUint32(0, true) === RecordType.Compressed2 ? 16 : RECORD_HEADER_BYTES;
    const most = Math.max(0, record.byteLength - start);
    const end = start === 16 && most > 0 ? Math.min(most, getU64(record, 8)) : most;
    // Addresses: the memory may move when it grows.
    let from = record.byteOffset + start;
    const to = from + end;
    try {
      for (let isFull = true; from < to || isFull; ) {
        const room = this.#roomForMore();
        const address = this.#wasm.pieceAddress(room.piece) + room.filled;
        const free = ROOM_BYTES - room.filled;
        const { buffer } = this.#wasm.memory;
        const step = this.#zstd(
          new Uint8Array(buffer, from, to - from),
          new Uint8Array(buffer, address, free),
        );
        const { read, written } = step instanceof Promise ? await step : step;
        from += read;
        isFull = written === free;
        if (read === 0 && written === 0) break;
        room.filled += written;
        this.#takeDecompressed(room, offset);
        if (this.isDamaged) return;
      }
    } catch (error) {
      this.gaps.push(
        `What follows offset 0x${offset.toString(16)} cannot be decompressed: ${(error as Error).message}`,
      );
      this.isDamaged = true;
    }
  }

  /** Where more than a record can be decompressed to; behind the start of one whose end is missing yet. */
  #roomForMore(): DecompressionRoom {
    const wasm = this.#wasm;
    const before = this.#room;
    if (before !== undefined && ROOM_BYTES - before.filled > LONGEST_RECORD) return before;
    const piece = wasm.takePiece(ROOM_BYTES);
    const start = wasm.pieceAddress(piece);
    wasm.enter(piece, start, start);
    this.#room = { piece, taken: 0, filled: 0 };
    if (before !== undefined) {
      const from = wasm.pieceAddress(before.piece);
      new Uint8Array(wasm.memory.buffer).copyWithin(start, from + before.taken, from + before.filled);
      this.#room.filled = before.filled - before.taken;
      wasm.leave(before.piece);
    }
    return this.#room;
  }

  #takeDecompressed(room: DecompressionRoom, fileOffset: number): void {
    const wasm = this.#wasm;
    const start = wasm.pieceAddress(room.piece);
    wasm.resume(room.piece, start + room.taken, start + room.filled);
    for (let address = this.#next(); address !== 0; address = this.#next()) {
      const { view } = this.#memory;
      const type = view.getUint32(address, true);
      if (type < RecordType.FirstUser) this.#emit(address, type);
      else this.#takeHeader(new DataView(view.buffer, address, view.getUint16(address + 6, true)), type);
    }
    room.taken = wasm.position.value - start;
    this.#lookForDamage(wasm.position.value, start + room.filled, fileOffset);
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
      this.#memory.setEvents(this.#header);
      this.#taker?.setEvents();
      this.#records = new RecordDecoder(this.#header);
    } else if (type === RecordType.HeaderBuildId) {
      readBuildIds(record, this.#header);
      this.#taker?.setBuildIds();
    } else if (type === RecordType.HeaderFeature && body.byteLength >= 8) {
      readFeature(
        getU64(body, 0),
        new DataView(body.buffer, body.byteOffset + 8, body.byteLength - 8),
        this.#header,
      );
      this.#taker?.setBuildIds();
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

  #emit(address: number, type: number): void {
    const { view } = this.#memory;
    if (type !== RecordType.Sample) {
      const record = new DataView(view.buffer, address, view.getUint16(address + 6, true));
      const decoded = this.#records.decode(record);
      if (decoded !== undefined) this.#options.onRecord(decoded, this.#header);
      return;
    }
    if (this.#wasm.decode(address) === 0) this.#damagedSamples++;
    else this.#options.onRecord(this.#memory.sample(), this.#header);
  }
}

/** Bytes that follow some records without being part of them. */
function payloadBytes(record: DataView, type: number): number {
  if (type === RecordType.AuxTrace && record.byteLength >= 16) return getU64(record, 8);
  if (type === RecordType.TracingData && record.byteLength >= 12)
    return Math.ceil(record.getUint32(8, true) / 8) * 8;
  return 0;
}
