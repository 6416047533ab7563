import { closeSync, openSync, readSync } from "node:fs";
import {
  ADDRESS_BITS,
  ARENA,
  DEAD,
  DEALLOCATED,
  FIRST_ID,
  LAST_ID,
  MARKED_BYTES,
  NEXT_ID,
  OVERFLOW,
  SAMPLED,
  SampledHead,
  SHADOW_BITS,
  SLOT_BYTES,
  SLOT_OF_ID,
  TABLES_END,
  UNKNOWN_CALLS,
} from "../layout.ts";

const IDS = 65_536;

export interface StoreFate {
  dead: number;
  deallocated: number;
  exit: number;
}

/** Shared file of a process with the counters of inserted code: slots and tables, then shadow words. */
export class CountsFile {
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, "r");
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Returns the slots of an address range as signed 8-byte words. */
  slots(from: number, to: number): BigInt64Array {
    const bytes = this.#read(from, to - from);
    return new BigInt64Array(bytes.buffer, 0, bytes.length / 8);
  }

  bytes(from: number, to: number): Uint8Array<ArrayBuffer> {
    return this.#read(from, to - from);
  }

  words(start: number, end: number): Uint16Array {
    const at = TABLES_END + 2 * (start % 2 ** ADDRESS_BITS);
    return new Uint16Array(this.#read(at, 2 * (end - start)).buffer);
  }

  /** Returns the marks of loaded bytes. `start`: a multiple of `MARKED_BYTES` */
  marks(start: number, end: number): Uint8Array {
    const at = TABLES_END + 2 ** SHADOW_BITS + (start % 2 ** ADDRESS_BITS) / MARKED_BYTES;
    return this.#read(at, Math.ceil((end - start) / MARKED_BYTES));
  }

  fatesOfIds(unread: Float64Array): (id: number) => StoreFate {
    const [dead, deallocated] = this.#sums();
    return (id) => ({ dead: Number(dead[id]), deallocated: Number(deallocated[id]), exit: unread[id] });
  }

  /**
   * Returns the fates by address of a store's slot.
   *
   * @param unread unread bytes at the end, by store id
   */
  fates(unread: Float64Array): Map<number, StoreFate> {
    const slots = new Uint32Array(this.#read(SLOT_OF_ID, IDS * 4).buffer);
    const [dead, deallocated] = this.#sums();
    const fates = new Map<number, StoreFate>();
    for (let id = FIRST_ID; id <= LAST_ID; id++) {
      if (slots[id] === 0) continue;
      fates.set(slots[id], {
        dead: Number(dead[id]),
        deallocated: Number(deallocated[id]),
        exit: unread[id],
      });
    }
    return fates;
  }

  /** Returns the number and the total fate of stores without an id. */
  withoutId(unread: Float64Array): { stores: number } & StoreFate {
    const [next] = new Uint32Array(this.#read(NEXT_ID, 4).buffer);
    const [sampled] = new Uint32Array(this.#read(SAMPLED + SampledHead.ids, 4).buffer);
    const [dead, deallocated] = this.#sums();
    return {
      stores: Math.max(0, next - (LAST_ID - FIRST_ID + 1 - sampled)),
      dead: Number(dead[OVERFLOW]),
      deallocated: Number(deallocated[OVERFLOW]),
      exit: unread[OVERFLOW],
    };
  }

  unknownCalls(): number {
    return Number(this.slots(UNKNOWN_CALLS, UNKNOWN_CALLS + SLOT_BYTES)[0]);
  }

  #sums(): BigInt64Array[] {
    return [DEAD, DEALLOCATED].map((at) => new BigInt64Array(this.#read(at, IDS * 8).buffer));
  }

  #read(from: number, bytes: number): Uint8Array<ArrayBuffer> {
    const read = new Uint8Array(bytes);
    // A file without sites has no slots.
    if (bytes > 0) readSync(this.#descriptor, read, 0, bytes, from - ARENA);
    return read;
  }
}
