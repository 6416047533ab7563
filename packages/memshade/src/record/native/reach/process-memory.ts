import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import type { ProgramMemory, SeeWords } from "../../tools/heap/read/reach/program-memory.ts";

export interface ReadableProcess {
  /**
   * Reads memory at an address.
   * @returns number of bytes read
   */
  read(address: number, into: Uint8Array): number;
  /** Sets an entry to 1 for each touched page from an address on. */
  touched(address: number, pages: Uint8Array): void;
}

const WORD_BYTES = 8;
const PIECE_BYTES = 2 ** 20;
const PIECE_PAGES = PIECE_BYTES / PAGE_BYTES;
/** Number of cached pages for single words. */
const KEPT_PAGES = 256;

/**
 * Memory of a process, read in pieces of 1 MiB. Untouched pages contain nothing of the program. They are not
 * read, since reading would allocate them.
 */
export class ProcessMemory implements ProgramMemory {
  readonly wordBytes = WORD_BYTES;
  readonly #process: ReadableProcess;
  readonly #onPiece: () => void;
  readonly #piece = new Uint8Array(PIECE_BYTES);
  readonly #words = new Uint32Array(this.#piece.buffer);
  readonly #touched = new Uint8Array(PIECE_PAGES);
  #pieceStart = -1;
  #isEmpty = true;
  readonly #pages = new Uint32Array((KEPT_PAGES * PAGE_BYTES) / 4);
  readonly #pageStarts = new Float64Array(KEPT_PAGES).fill(-1);

  /** @param onPiece called for each piece, as a sign of life */
  constructor(process: ReadableProcess, onPiece: () => void = () => undefined) {
    this.#process = process;
    this.#onPiece = onPiece;
  }

  read(from: number, to: number, see: SeeWords): void {
    const first = Math.ceil(from / WORD_BYTES) * WORD_BYTES;
    const last = Math.floor(to / WORD_BYTES) * WORD_BYTES;
    for (let at = first; at < last; ) {
      const start = Math.floor(at / PIECE_BYTES) * PIECE_BYTES;
      const end = Math.min(last, start + PIECE_BYTES);
      if (start !== this.#pieceStart) this.#takePiece(start);
      if (!this.#isEmpty) see(this.#words, (at - start) / 4, (end - start) / 4, at);
      at = end;
    }
  }

  half(address: number): number {
    const start = Math.floor(address / PAGE_BYTES) * PAGE_BYTES;
    const slot = (start / PAGE_BYTES) % KEPT_PAGES;
    const at = (slot * PAGE_BYTES) / 4;
    if (this.#pageStarts[slot] !== start) {
      this.#pageStarts[slot] = start;
      const page = new Uint8Array(this.#pages.buffer, 4 * at, PAGE_BYTES);
      page.fill(0, this.#process.read(start, page));
    }
    return this.#pages[at + (address - start) / 4];
  }

  word(address: number): number {
    return this.half(address + 4) * 2 ** 32 + this.half(address);
  }

  #takePiece(start: number): void {
    this.#onPiece();
    this.#pieceStart = start;
    const touched = this.#touched;
    touched.fill(0);
    this.#process.touched(start, touched);
    if (!this.#isEmpty) this.#piece.fill(0);
    this.#isEmpty = true;
    for (let page = 0; page < PIECE_PAGES; page++) {
      if (touched[page] === 0) continue;
      let end = page + 1;
      while (end < PIECE_PAGES && touched[end] === 1) end++;
      const run = this.#piece.subarray(page * PAGE_BYTES, end * PAGE_BYTES);
      run.fill(0, this.#process.read(start + page * PAGE_BYTES, run));
      this.#isEmpty = false;
      page = end;
    }
  }
}
