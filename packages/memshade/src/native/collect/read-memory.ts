import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { FormatError } from "../../bytes/errors.ts";
import { Control, RECORD_BYTES } from "../../tools/heap/layout.ts";
import {
  HEADER_MAGIC,
  HEADER_VERSION,
  Header,
  MODULE_BYTES,
  MOST_MODULES,
  MOST_THREADS,
  Place,
  THREAD_BYTES,
  Thread,
} from "../layout.ts";

/** Globals come first in the file. */
const MEMORY_AT = 0x1_0000;
const MEMORY_BYTES = 2 ** 32;
const PIECE_BYTES = 2 ** 20;
const WORD_BYTES = 4;

/**
 * The linear memory of a process, as it is in the file that it shares: what its tables use. The process may be running, or gone.
 *
 * @throws FormatError if the file is none that this version's image made
 */
export function readMemory(file: string): ArrayBuffer {
  const descriptor = openSync(file, "r");
  try {
    return new MemoryFile(descriptor).read();
  } finally {
    closeSync(descriptor);
  }
}

class MemoryFile {
  readonly #descriptor: number;
  /** Pages of it that nobody writes take no room. */
  readonly #memory = new ArrayBuffer(MEMORY_BYTES);
  readonly #bytes = new Uint8Array(this.#memory);
  readonly #view = new DataView(this.#memory);

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  read(): ArrayBuffer {
    const wrong = (detail: string): FormatError =>
      new FormatError("malformed", 0, "memory of a native program", detail);
    if (fstatSync(this.#descriptor).size !== MEMORY_AT + MEMORY_BYTES) throw wrong("it is not of its size");
    this.#take(0, Place.control);
    if (this.#view.getUint32(Header.magic, true) !== HEADER_MAGIC) throw wrong("it does not begin as one");
    if (this.#view.getUint32(Header.version, true) !== HEADER_VERSION)
      throw wrong("it is of another version");
    const control = (field: number): number => this.#view.getUint32(Place.control + field, true);
    this.#take(Place.control, Place.records - Place.control);
    this.#take(Place.records, Math.min(control(Control.recordNext) + 1, Place.recordCapacity) * RECORD_BYTES);
    const modules = Math.min(this.#view.getUint32(Header.modules, true), MOST_MODULES);
    this.#take(Place.modules, modules * MODULE_BYTES);
    this.#take(Place.moduleOrder, modules * WORD_BYTES);
    const threads = Math.min(this.#view.getUint32(Header.threads, true), MOST_THREADS);
    for (let i = 0; i < threads; i++) this.#take(Place.threads + i * THREAD_BYTES, Thread.stack);
    this.#take(Place.regions, Place.ruleCache - Place.regions);
    this.#take(Place.slots, Math.min(control(Control.slotsNext), Place.slotsEnd - Place.slots));
    return this.#memory;
  }

  /** Zeros are left out: they are there, and take no room. */
  #take(from: number, length: number): void {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let at = from; at < from + length; at += PIECE_BYTES) {
      const wanted = Math.min(PIECE_BYTES, from + length - at);
      const count = readSync(this.#descriptor, piece, 0, wanted, MEMORY_AT + at);
      const found = piece.subarray(0, count);
      if (!isZero(found)) this.#bytes.set(found, at);
    }
  }
}

const ZEROS = Buffer.alloc(PIECE_BYTES);

function isZero(bytes: Buffer): boolean {
  return bytes.equals(ZEROS.subarray(0, bytes.length));
}
