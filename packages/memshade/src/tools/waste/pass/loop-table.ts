import { ByteWriter } from "../../../bytes/writer.ts";
import { type DataContent, encodeConstantExpression, I32 } from "../../../wasm/index.ts";

const WORD_BYTES = 4;
/** Flags of a data segment with an index of a memory, and an address. */
const ACTIVE_IN_MEMORY = 2;

/**
 * What is known of loops when a module is rewritten, as words that a data segment puts behind all other tables of the tool; see
 * `tools/waste/assembly/stream-table.ts`.
 */
export class LoopTable {
  readonly #address: number;
  readonly #room: number;
  readonly #words: number[] = [];

  /** A table of up to `room` bytes at an address. */
  constructor(address: number, room: number) {
    this.#address = address;
    this.#room = room;
  }

  /** Returns the address where the words will be; undefined if there is no room for them. */
  add(words: readonly number[]): number | undefined {
    const at = this.byteLength;
    if (at + words.length * WORD_BYTES > this.#room) return undefined;
    this.#words.push(...words);
    return this.#address + at;
  }

  /** Sets bits of the word at an address. */
  mark(address: number, bits: number): void {
    this.#words[(address - this.#address) / WORD_BYTES] |= bits;
  }

  get byteLength(): number {
    return this.#words.length * WORD_BYTES;
  }

  /** Address behind it. */
  get endBytes(): number {
    return this.#address + this.byteLength;
  }

  /** Data segments that put it into a memory: one, if there is any loop. */
  segments(memory: number): DataContent[] {
    if (this.#words.length === 0) return [];
    const content = new ByteWriter(this.byteLength);
    for (const word of this.#words) content.u32(word >>> 0);
    const offset = encodeConstantExpression(I32, this.#address | 0);
    return [{ flags: ACTIVE_IN_MEMORY, memory, offset, content: content.finish() }];
  }
}
