import type { WasteDescription } from "../description.ts";
import { Control, INIT_BUFFER_BYTES } from "../layout.ts";

/** What a part of the memory held before a call of the host. */
interface Kept {
  address: number;
  bytes: Uint8Array;
}

/** Exports of a module with the waste tool that take what the host writes in pieces, with what was there before. */
export interface WriteTargets {
  /** Behind the write: `size` bytes that were at `address` are in the buffer; `done` bytes of the write came before. */
  hostWriting(address: number, size: number, done: number): void;
  hostWroteOver(address: number, size: number): void;
}

/** Compares what the host writes with what was there: such a write can be silent as any store of the program. */
export class HostWrites {
  readonly #targets: WriteTargets;
  readonly #shadow: WebAssembly.Memory;
  readonly #buffer: number;

  constructor(shadow: WebAssembly.Memory, layout: WasteDescription, targets: WriteTargets) {
    this.#targets = targets;
    this.#shadow = shadow;
    this.#buffer = layout.control + Control.initBytes;
  }

  /** Before the call: what lies in `ranges`, as far as that is memory. */
  keep(memory: Uint8Array, ranges: readonly (readonly [address: number, bytes: number])[]): Kept[] {
    return ranges.map(([address, bytes]) => ({ address, bytes: memory.slice(address, address + bytes) }));
  }

  /** Behind the call: tells of `size` bytes written at `address`. False if not all of them were kept. */
  tell(kept: readonly Kept[], address: number, size: number): boolean {
    const before = kept.find((one) => one.address === address && one.bytes.length >= size);
    if (before === undefined) return false;
    for (let done = 0; done < size; done += INIT_BUFFER_BYTES) {
      const piece = before.bytes.subarray(done, Math.min(size, done + INIT_BUFFER_BYTES));
      new Uint8Array(this.#shadow.buffer).set(piece, this.#buffer);
      this.#targets.hostWriting(address + done, piece.length, done);
    }
    this.#targets.hostWroteOver(address, size);
    return true;
  }
}
