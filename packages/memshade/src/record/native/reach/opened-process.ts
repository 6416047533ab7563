import { closeSync, openSync, readSync } from "node:fs";
import type { ReadableProcess } from "./process-memory.ts";

const PAGE_BYTES = 4096;
const ENTRY_BYTES = 8;
/** Bits of the uppermost byte of a page's entry: it is in memory, or was moved out of it. */
const TOUCHED = 0xc0;

/** The memory of a process as the kernel shows it to its starter. It is opened early: later the process may forbid that. */
export class OpenedProcess implements ReadableProcess {
  readonly #memory: number;
  readonly #pages: number;
  readonly #maps: number;

  private constructor([memory, pages, maps]: readonly [number, number, number]) {
    this.#memory = memory;
    this.#pages = pages;
    this.#maps = maps;
  }

  /** Undefined where the system does not let us. */
  static open(pid: number): OpenedProcess | undefined {
    const opened: number[] = [];
    try {
      for (const name of ["mem", "pagemap", "maps"]) opened.push(openSync(`/proc/${pid}/${name}`, "r"));
      return new OpenedProcess(opened as [number, number, number] & number[]);
    } catch {
      for (const descriptor of opened) closeSync(descriptor);
      return undefined;
    }
  }

  close(): void {
    for (const descriptor of [this.#memory, this.#pages, this.#maps]) closeSync(descriptor);
  }

  read(address: number, into: Uint8Array): number {
    let count = 0;
    try {
      while (count < into.length) {
        const found = readSync(this.#memory, into, count, into.length - count, address + count);
        if (found === 0) break;
        count += found;
      }
    } catch {
      // Nothing is mapped there, or nobody may read it.
    }
    return count;
  }

  touched(address: number, pages: Uint8Array): void {
    const entries = Buffer.alloc(pages.length * ENTRY_BYTES);
    const found = readSync(this.#pages, entries, 0, entries.length, (address / PAGE_BYTES) * ENTRY_BYTES);
    for (let page = 0; (page + 1) * ENTRY_BYTES <= found; page++)
      pages[page] = (entries[page * ENTRY_BYTES + ENTRY_BYTES - 1]! & TOUCHED) === 0 ? 0 : 1;
  }

  /** What it has mapped, as the kernel tells it. */
  maps(): string {
    const pieces: Buffer[] = [];
    for (let at = 0; ; ) {
      const piece = Buffer.alloc(2 ** 16);
      const found = readSync(this.#maps, piece, 0, piece.length, at);
      if (found === 0) return Buffer.concat(pieces).toString("latin1");
      pieces.push(piece.subarray(0, found));
      at += found;
    }
  }
}
