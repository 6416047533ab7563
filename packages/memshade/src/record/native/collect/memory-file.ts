import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  CHANGE_BYTES,
  CONTEXT_BYTES,
  CONTROL_BYTES,
  Control,
  DRAG_BYTES,
  FOLLOWED_BYTES,
  GROWTH_BYTES,
  INTERVAL_BYTES,
  NODE_BYTES,
  PAST_BYTES,
  RECORD_BYTES,
  SLOT_BYTES,
} from "../../tools/heap/layout.ts";
import { COUNTED_PIECE, type GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import {
  COUNTERS,
  HEADER_MAGIC,
  HEADER_VERSION,
  Header,
  MAPS_BYTES,
  MODULE_BYTES,
  MOST_MODULES,
  MOST_PROGRAM_BYTES,
  MOST_THREADS,
  Module,
  Place,
  STARTED_PART_BYTES,
  THREAD_BYTES,
  Thread,
  WRITES,
  WRITES_BIT,
} from "../layout.ts";
import { type ProcessModule, readModules } from "./modules.ts";

const COUNTER_BYTES = 4;
const SUFFIX = ".counts";
const NONE = Buffer.alloc(COUNTED_PIECE * COUNTER_BYTES);
/** Memory for the counters of reads and of writes on their way. */
const [READS, WRITTEN] = [Buffer.alloc(NONE.length), Buffer.alloc(NONE.length)];
const WRITES_VALUE = 2 ** WRITES_BIT;
/** Counters that are read at once for small blocks: four pages of the file. */
const WINDOW = 1 << 12;

/** Counters that a process shares by a file. The process may be running or gone. */
class CountersFile implements GranuleCounters {
  readonly #descriptor: number;
  #window: Uint32Array | undefined;
  #windowStart = 0;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /**
   * Returns undefined if the process shares no counters.
   * @param memory path of its memory file
   * @throws the system's error
   */
  static open(memory: string): CountersFile | undefined {
    try {
      return new CountersFile(openSync(`${memory}${SUFFIX}`, "r"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Neighbouring blocks share a window, because a system call for each block would take longer than all else. */
  read(first: number, end: number): Uint32Array {
    const start = first - (first % WINDOW);
    if (end > start + WINDOW) return this.#read(first, end);
    if (this.#window === undefined || this.#windowStart !== start) {
      // The program may go on: a window is not used by later work.
      if (this.#window === undefined)
        queueMicrotask(() => {
          this.#window = undefined;
        });
      this.#window = this.#read(start, start + WINDOW);
      this.#windowStart = start;
    }
    return this.#window.subarray(first - start, end - start);
  }

  #read(first: number, end: number): Uint32Array {
    const counters = new Uint32Array(end - first);
    for (let from = first; from < end; from += COUNTED_PIECE) {
      const to = Math.min(end, from + COUNTED_PIECE);
      const reads = this.#words(READS, from, to, 0);
      const other = Math.floor(from / WRITES_VALUE) % 2 === 0 ? WRITES_VALUE : -WRITES_VALUE;
      const writes = this.#words(WRITTEN, from + other, to + other, WRITES - COUNTERS);
      if (reads === undefined && writes === undefined) continue;
      for (let i = 0; i < to - from; i++) {
        const read = reads === undefined ? 0 : reads[i];
        const written = writes === undefined ? 0 : writes[i];
        counters[from - first + i] = ((read + written) << 1) | (read === 0 ? 0 : 1);
      }
    }
    return counters;
  }

  /** Returns words in the memory of `buffer`; undefined if all are zero. */
  #words(buffer: Buffer, from: number, to: number, offset: number): Uint32Array | undefined {
    const wanted = (to - from) * COUNTER_BYTES;
    const bytes = buffer.subarray(
      0,
      readSync(this.#descriptor, buffer, 0, wanted, from * COUNTER_BYTES + offset),
    );
    if (bytes.equals(NONE.subarray(0, bytes.length))) return undefined;
    buffer.fill(0, bytes.length, wanted);
    return new Uint32Array(buffer.buffer, buffer.byteOffset, to - from);
  }
}

/** Offset of linear memory in the file, behind the globals. */
const MEMORY_AT = 0x1_0000;
const MEMORY_BYTES = 2 ** 32;
const PAGE_BYTES = 2 ** 16;
const PIECE_BYTES = 2 ** 20;
const WORD_BYTES = 4;
/** Milliseconds without a hook after which the tables are taken as unchanging. */
const STILL_MS = 100;
const STEP_MS = 1;
/** Milliseconds in which a busy program is likely to call a hook: the file is read all the time. */
const BUSY_MS = 3;

/** Linear memory that a process shares by a file. The process may be running or gone. */
export class MemoryFile {
  readonly counters: CountersFile | undefined;
  readonly #descriptor: number;
  #requests = 0;
  #isClosed = false;

  private constructor(descriptor: number, counters: CountersFile | undefined) {
    this.#descriptor = descriptor;
    this.counters = counters;
  }

  /**
   * Returns undefined if the process has not finished the file yet.
   * @throws FormatError if it is no memory of this version; else the system's error
   */
  static open(path: string): MemoryFile | undefined {
    let descriptor: number;
    try {
      descriptor = openSync(path, "r+");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    let counters: CountersFile | undefined;
    let file: MemoryFile | undefined;
    try {
      counters = CountersFile.open(path);
      const opened = new MemoryFile(descriptor, counters);
      // The process writes the magic number last.
      if (fstatSync(descriptor).size === MEMORY_AT + MEMORY_BYTES && opened.header(Header.magic) !== 0) {
        opened.#check();
        file = opened;
      }
    } finally {
      if (file === undefined) {
        closeSync(descriptor);
        counters?.close();
      }
    }
    return file;
  }

  #check(): void {
    const wrong = (detail: string): FormatError =>
      new FormatError("malformed", 0, "memory of a native program", detail);
    if (this.header(Header.magic) !== HEADER_MAGIC) throw wrong("it does not begin as one");
    if (this.header(Header.version) !== HEADER_VERSION) throw wrong("it is of another version");
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    closeSync(this.#descriptor);
    this.counters?.close();
  }

  header(field: number): number {
    const word = Buffer.alloc(WORD_BYTES);
    readSync(this.#descriptor, word, 0, WORD_BYTES, MEMORY_AT + field);
    return word.readUInt32LE();
  }

  u64(at: number): number {
    return Number(this.bytes(at, 8).readBigUInt64LE());
  }

  setU64(at: number, value: number): void {
    const word = Buffer.alloc(8);
    word.writeBigUInt64LE(BigInt(value));
    this.write(at, word);
  }

  bytes(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    readSync(this.#descriptor, bytes, 0, length, MEMORY_AT + at);
    return bytes;
  }

  write(at: number, bytes: Uint8Array): void {
    writeSync(this.#descriptor, bytes, 0, bytes.length, MEMORY_AT + at);
  }

  setHeader(field: number, value: number): void {
    const word = Buffer.alloc(WORD_BYTES);
    word.writeUInt32LE(value);
    writeSync(this.#descriptor, word, 0, WORD_BYTES, MEMORY_AT + field);
  }

  /** Returns the kernel's path of the program, and its arguments; empty if they are unknown. */
  program(): { file: string; command: string[] } {
    const file = this.#text(Header.program, this.header(Header.programBytes));
    const words = this.#text(Header.command, this.header(Header.commandBytes)).split("\0");
    return { file, command: words.at(-1) === "" ? words.slice(0, -1) : words };
  }

  #text(at: number, length: number): string {
    const bytes = Buffer.alloc(Math.min(length, MOST_PROGRAM_BYTES));
    readSync(this.#descriptor, bytes, 0, bytes.length, MEMORY_AT + at);
    return bytes.toString();
  }

  /** Returns the mappings at the exit; empty if the process has not exited by itself. */
  maps(): string {
    return this.bytes(Place.maps, MAPS_BYTES).toString("latin1").replace(/\0+$/, "");
  }

  /** Returns the start in nanoseconds of the monotonic clock. */
  start(): bigint {
    return BigInt(this.header(Header.start)) | (BigInt(this.header(Header.start + WORD_BYTES)) << 32n);
  }

  modules(): ProcessModule[] {
    const copy = newCopy();
    const count = this.#moduleCount();
    this.#takeModules(copy, count);
    return readModules(copy.memory, count);
  }

  /** Returns address ranges and paths of objects with code, with paths as in `ProcessModule`. */
  objects(): { start: number; end: number; name: string }[] {
    const modules = this.bytes(Place.modules, this.#moduleCount() * MODULE_BYTES);
    const names = this.bytes(Place.names, this.#nameBytes());
    return Array.from({ length: modules.length / MODULE_BYTES }, (_, i) => {
      const at = i * MODULE_BYTES;
      const name = modules.readUInt32LE(at + Module.name) - Place.names;
      return {
        start: Number(modules.readBigUInt64LE(at + Module.start)),
        end: Number(modules.readBigUInt64LE(at + Module.end)),
        name: names.toString("utf8", name, name + modules.readUInt32LE(at + Module.nameBytes)),
      };
    });
  }

  /**
   * Copies the tables while the process runs. The process waits at its next hook meanwhile. Returns undefined
   * if it has ended and the file was closed.
   * @param onStill called once the process waits
   */
  async readStill(onStill: () => void = () => undefined): Promise<SharedArrayBuffer | undefined> {
    if (this.#isClosed) return undefined;
    return this.readStillInto(this.copy(), onStill);
  }

  /** Like `readStill`, into the pages of a copy that was made before: new pages take most of the time of a copy. */
  async readStillInto(copy: TableCopy, onStill: () => void): Promise<SharedArrayBuffer | undefined> {
    const request = ++this.#requests;
    this.setHeader(Header.request, request);
    const start = performance.now();
    for (let waited = 0; waited < STILL_MS && this.header(Header.answered) !== request; ) {
      waited = performance.now() - start;
      await (waited < BUSY_MS ? turn() : delay(STEP_MS));
      if (this.#isClosed) return undefined;
    }
    try {
      onStill();
      this.#copyInto(copy);
      return copy.memory;
    } finally {
      this.setHeader(Header.request, 0);
    }
  }

  /** Returns true if no block began or ended since the tables were read. */
  isAs(tables: SharedArrayBuffer): boolean {
    const isSame = (from: number, length: number): boolean =>
      this.bytes(from, length).equals(new Uint8Array(tables, from, length));
    return (
      isSame(Place.control, CONTROL_BYTES) &&
      isSame(Header.threads, Header.wanted - Header.threads) &&
      isSame(Header.threadsRefused, Header.start - Header.threadsRefused)
    );
  }

  /** Copies the tables; all other memory is zero. */
  read(): SharedArrayBuffer {
    return this.copy().memory;
  }

  /** Copies the tables as they are at the moment, while the process may be changing them. */
  copy(): TableCopy {
    const copy = newCopy();
    this.#copyInto(copy);
    return copy;
  }

  #copyInto(copy: TableCopy): void {
    const { memory } = copy;
    const take = (from: number, length: number): void => this.#take(copy, from, length);
    take(0, Place.mibs);
    const control = (field: number): number => new DataView(memory).getUint32(Place.control + field, true);
    // Tables for finding nodes, and counters, are not needed by readers.
    const contexts = control(Control.mibNext) + 1;
    take(Place.mibs, contexts * CONTEXT_BYTES);
    take(Place.growths, contexts * GROWTH_BYTES);
    take(Place.pasts, contexts * PAST_BYTES);
    take(Place.drags, contexts * DRAG_BYTES);
    take(Place.followed, (control(Control.followed) + 1) * FOLLOWED_BYTES);
    take(Place.intervals, control(Control.intervals) * INTERVAL_BYTES);
    take(Place.changes, control(Control.changes) * CHANGE_BYTES);
    take(Place.nodes, (control(Control.nodeNext) + 1) * NODE_BYTES);
    take(Place.records, Math.min(control(Control.recordNext) + 1, Place.recordCapacity) * RECORD_BYTES);
    this.#takeModules(copy, this.#moduleCount());
    const threads = Math.min(this.header(Header.threads), MOST_THREADS);
    for (let i = 0; i < threads; i++) take(Place.threads + i * THREAD_BYTES, Thread.stack);
    take(Place.buckets, (this.header(Header.lastBucket) + 1) * SLOT_BYTES);
    take(Place.parts, this.header(Header.parts) * STARTED_PART_BYTES);
    take(Place.slots, Math.min(control(Control.slotsNext), Place.slotsEnd - Place.slots));
  }

  #takeModules(copy: TableCopy, count: number): void {
    this.#take(copy, Place.modules, count * MODULE_BYTES);
    this.#take(copy, Place.names, this.#nameBytes());
  }

  #nameBytes(): number {
    return Math.min(this.header(Header.names), Place.namesEnd - Place.names);
  }

  #moduleCount(): number {
    return Math.min(this.header(Header.modules), MOST_MODULES);
  }

  /** Skips pieces of zeros, which the copy contains already. */
  #take({ memory, pieces }: TableCopy, from: number, length: number): void {
    const bytes = new Uint8Array(memory);
    for (let at = from; at < from + length; at += PIECE_BYTES) {
      const wanted = Math.min(PIECE_BYTES, from + length - at);
      const found = ONE_PIECE.subarray(0, readSync(this.#descriptor, ONE_PIECE, 0, wanted, MEMORY_AT + at));
      if (!pieces.has(at) && found.equals(ZEROS.subarray(0, found.length))) continue;
      bytes.set(found, at);
      pieces.add(at);
    }
  }
}

/** A copy of the tables. */
export interface TableCopy {
  readonly memory: SharedArrayBuffer;
  /** Starts of the pieces that contain something. */
  readonly pieces: Set<number>;
}

/**
 * Returns zeroed memory in which only written pages take room. WebAssembly memory is mapped by the engine,
 * while some allocators touch all pages of a buffer. Shared memory does not count for the garbage collector.
 */
function emptyMemory(): SharedArrayBuffer {
  const pages = MEMORY_BYTES / PAGE_BYTES;
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    .buffer as unknown as SharedArrayBuffer;
}

function newCopy(): TableCopy {
  return { memory: emptyMemory(), pieces: new Set() };
}

const ZEROS = Buffer.alloc(PIECE_BYTES);
/** Memory for a piece on its way. */
const ONE_PIECE = Buffer.alloc(PIECE_BYTES);
