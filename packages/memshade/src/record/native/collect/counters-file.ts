import { closeSync, openSync, readSync } from "node:fs";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { COUNTERS, WRITES, WRITES_BIT } from "../layout.ts";

const COUNTER_BYTES = 4;
/** Beside the file of a process's memory. */
const SUFFIX = ".counts";
/** So many granules are read at once. */
const PIECE = 1 << 18;
const NONE = new Uint8Array(PIECE * COUNTER_BYTES);
const WRITES_VALUE = 2 ** WRITES_BIT;

/** The counters that a process shares by a file. The process may be running, or gone. */
export class CountersFile implements GranuleCounters {
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /**
   * Undefined where the process shares none.
   *
   * @param memory path of the file of its memory
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

  read(first: number, end: number): Uint32Array {
    const counters = new Uint32Array(end - first);
    for (let from = first; from < end; from += PIECE) {
      const to = Math.min(end, from + PIECE);
      const reads = this.#words(from, to, 0);
      const other = Math.floor(from / WRITES_VALUE) % 2 === 0 ? WRITES_VALUE : -WRITES_VALUE;
      const writes = this.#words(from + other, to + other, WRITES - COUNTERS);
      if (reads === undefined && writes === undefined) continue;
      for (let i = 0; i < to - from; i++) {
        const read = reads === undefined ? 0 : reads[i];
        const written = writes === undefined ? 0 : writes[i];
        counters[from - first + i] = ((read + written) << 1) | (read === 0 ? 0 : 1);
      }
    }
    return counters;
  }

  /** Undefined where all are zero. */
  #words(from: number, to: number, offset: number): Uint32Array | undefined {
    const bytes = Buffer.alloc((to - from) * COUNTER_BYTES);
    readSync(this.#descriptor, bytes, 0, bytes.length, from * COUNTER_BYTES + offset);
    if (bytes.equals(NONE.subarray(0, bytes.length))) return undefined;
    return new Uint32Array(bytes.buffer, bytes.byteOffset, to - from);
  }
}
