import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64 } from "../../../ground/bytes/numbers.ts";
import { counted } from "../../model/counted.ts";
import { PERF_RECORDS_BASE64 } from "./assembly.generated.ts";
import {
  type GrowingHeader,
  hexBytes,
  idsOf,
  MINIMUM_ATTR_BYTES,
  readAttribute,
  readBuildIds,
  readFeature,
  readPerfHeader,
  textAt,
} from "./header.ts";
import { MISC_MMAP_BUILD_ID, RECORD_HEADER_BYTES, RecordType, SampleBit } from "./layout.ts";
import type { PerfEvent, PerfHeader, PerfRecord, PerfSample } from "./types.ts";

export interface Decompressed {
  /** Consumed bytes of the input. */
  readonly read: number;
  /** Filled bytes of the output buffer. */
  readonly written: number;
}

/**
 * Decompresses one stream step by step: continues with `input`, and fills `room`. A call returns when the input is
 * consumed, `room` is full, a frame ends, or no progress is possible.
 */
export type Decompressor = (input: Uint8Array, room: Uint8Array) => Decompressed | Promise<Decompressed>;

export interface SampleTaker {
  /** Replacement of `PerfRecordsWasm.next`; may skip records that need no callback. */
  readonly wasm: { nextRecord(): number; readonly damagedSamples: WebAssembly.Global<"i32"> };
  setEvents(): void;
  setBuildIds(): void;
}

export interface PerfReadOptions {
  /** Starts the decompression of a Zstandard stream. Files recorded with `-z` need it. */
  readonly zstd?: () => Decompressor;
  /**
   * Called in the order of time. `header` is complete before the first sample. The data of a sample is overwritten
   * after the call.
   */
  readonly onRecord: (record: PerfRecord, header: PerfHeader) => void;
  /** Creates a consumer that takes samples inside WebAssembly, from the memory into which they are read. */
  readonly takeSamples?: (records: PerfRecords, header: PerfHeader) => SampleTaker;
}

export interface PerfDataSummary {
  readonly header: PerfHeader;
  readonly gaps: readonly string[];
}

/** Bytes read at a time; records are at most 64 KiB. */
const PIECE_BYTES = 2 ** 19;
/** Size of a piece for decompressed records. A piece is full when the rest is shorter than the longest record. */
const ROOM_BYTES = 2 ** 19;
const LONGEST_RECORD = 2 ** 16;

interface DecompressionRoom {
  readonly piece: number;
  /** Offset of the first record that was not taken yet. */
  taken: number;
  filled: number;
}

/**
 * Reads perf.data, as written by `perf record` to a file or a pipe, in memory independent of its size. A truncated file
 * is read up to its end.
 *
 * @throws FormatError if the file is not perf.data, or is compressed and no decompressor was given
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

  /** Reads a piece of the file and takes the whole records at its start. @returns the bytes of these records */
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

  /**
   * Takes the whole records of a piece. @returns the bytes of these records, including a payload that may follow the
   * last one
   */
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
      // The payload may extend beyond this piece.
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

  /** Sets `isDamaged` if the records end in a damaged one before the end of a piece. */
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
    // The loop keeps addresses, because the memory's buffer may change when it grows.
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

  /**
   * Returns a piece with room for more than a record. A new piece begins with the incomplete record of the previous
   * one.
   */
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

  /** Handles records that replace the header's data in files written to a pipe. */
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
    } else if (type === RecordType.EventUpdate && body.byteLength >= 24) this.#renameEvent(body);
  }

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

/** Returns the size of the payload that follows some record types. */
function payloadBytes(record: DataView, type: number): number {
  if (type === RecordType.AuxTrace && record.byteLength >= 16) return getU64(record, 8);
  if (type === RecordType.TracingData && record.byteLength >= 12)
    return Math.ceil(record.getUint32(8, true) / 8) * 8;
  return 0;
}

export interface PerfRecordsWasm {
  readonly memory: WebAssembly.Memory;
  readonly SAMPLE: WebAssembly.Global<"i32">;
  readonly events: WebAssembly.Global<"i32">;
  readonly ids: WebAssembly.Global<"i32">;
  readonly piece: WebAssembly.Global<"i32">;
  readonly position: WebAssembly.Global<"i32">;
  readonly end: WebAssembly.Global<"i32">;
  allocate(bytes: number): number;
  takePiece(bytes: number): number;
  pieceAddress(piece: number): number;
  enter(piece: number, from: number, to: number): void;
  resume(piece: number, from: number, to: number): void;
  leave(piece: number): void;
  next(): number;
  finish(): void;
  decode(record: number): number;
  beginEvents(count: number, ids: number): void;
  setPlaces(id: number, time: number, timeFromEnd: number): void;
}

const HAS = { registers: 4, stack: 8 } as const;

let compiled: WebAssembly.Module | undefined;

export class PerfRecords {
  readonly wasm: PerfRecordsWasm;
  #view: DataView;

  constructor() {
    compiled ??= new WebAssembly.Module(bytesOfBase64(PERF_RECORDS_BASE64));
    this.wasm = new WebAssembly.Instance(compiled).exports as unknown as PerfRecordsWasm;
    this.#view = new DataView(this.wasm.memory.buffer);
  }

  /** View of the current memory, whose buffer changes when it grows. */
  get view(): DataView {
    const { buffer } = this.wasm.memory;
    if (this.#view.buffer !== buffer) this.#view = new DataView(buffer);
    return this.#view;
  }

  /** Passes the header's events to WebAssembly. All events have the same fields at the end of other records. */
  setEvents({ events }: PerfHeader): void {
    const { wasm } = this;
    const eventIds = events.flatMap(({ ids }, event) => ids.map((id) => ({ id: BigInt(`0x${id}`), event })));
    wasm.beginEvents(events.length, eventIds.length);
    const { view } = this;
    for (const [index, { sampleType, readFormat, branchSampleType, userRegisters }] of events.entries()) {
      const [low, high] = userRegisters;
      const fields = [sampleType, readFormat, branchSampleType, bitCount(low) + bitCount(high)];
      for (const [field, value] of fields.entries())
        view.setUint32(wasm.events.value + 16 * index + 4 * field, value, true);
    }
    for (const [index, { id, event }] of eventIds.entries()) {
      view.setBigUint64(wasm.ids.value + 16 * index, id, true);
      view.setUint32(wasm.ids.value + 16 * index + 8, event, true);
    }
    const [first] = events;
    if (first !== undefined) wasm.setPlaces(...placesIn(first));
  }

  /** Returns the last decoded sample. Its arrays are views of the memory. */
  sample(): PerfSample {
    const { view } = this;
    const at = this.wasm.SAMPLE.value;
    const has = view.getUint32(at + 20, true);
    const stackAt = view.getUint32(at + 72, true);
    return {
      kind: "sample",
      event: view.getUint32(at + 8, true),
      pid: view.getInt32(at + 12, true),
      tid: view.getInt32(at + 16, true),
      time: getU64(view, at + 24),
      period: getU64(view, at + 32),
      ip: getU64(view, at + 40),
      registers:
        (has & HAS.registers) === 0
          ? undefined
          : new DataView(view.buffer, view.getUint32(at + 64, true), 8 * view.getUint32(at + 68, true)),
      stack:
        (has & HAS.stack) === 0
          ? undefined
          : new Uint8Array(view.buffer, stackAt, view.getUint32(at + 76, true)),
      // The size precedes the stack in the record.
      stackRoom: (has & HAS.stack) === 0 ? 0 : getU64(view, stackAt - 8),
    };
  }
}

/**
 * Returns the offsets of id and time in a sample, and the distance of the time from the end of other records. 0 means
 * absent.
 */
function placesIn({ sampleType, hasSampleIds }: PerfEvent): [id: number, time: number, timeFromEnd: number] {
  const { Identifier, Ip, Tid, Time, Address, Id, StreamId, Cpu } = SampleBit;
  const has = (bit: number) => (sampleType & bit) !== 0;
  const behind = (bits: readonly number[]) => RECORD_HEADER_BYTES + 8 * bits.filter(has).length;
  const idAt = has(Identifier)
    ? RECORD_HEADER_BYTES
    : has(Id)
      ? behind([Identifier, Ip, Tid, Time, Address])
      : 0;
  const timeAt = has(Time) ? behind([Identifier, Ip, Tid]) : 0;
  const timeFromEnd =
    hasSampleIds && has(Time) ? 8 * [Time, Id, StreamId, Cpu, Identifier].filter(has).length : 0;
  return [idAt, timeAt, timeFromEnd];
}

function bitCount(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}

const MMAP_PATH = 40;
const MMAP2_PATH = 72;

function sampleIdBytes({ sampleType, hasSampleIds }: PerfEvent): number {
  if (!hasSampleIds) return 0;
  const { Tid, Time, Id, StreamId, Cpu, Identifier } = SampleBit;
  return 8 * [Tid, Time, Id, StreamId, Cpu, Identifier].filter((bit) => sampleType & bit).length;
}

/** Decodes records other than samples. All events of a file have the same fields at the end of such records. */
class RecordDecoder {
  readonly #header: PerfHeader;
  readonly #idBytes: number;
  constructor(header: PerfHeader) {
    this.#header = header;
    const [event] = header.events;
    this.#idBytes = event === undefined ? 0 : sampleIdBytes(event);
  }

  /** Decodes a record; returns undefined for irrelevant or short ones. */
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
