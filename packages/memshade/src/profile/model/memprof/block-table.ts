import { MIB_FIELDS, type MibField } from "../mib-fields.ts";
import type { MemprofBlocks } from "./profile.ts";

/** Fields of the hot/cold schema: all that the compiler needs. */
export const HOT_COLD_FIELDS: readonly MibField[] = MIB_FIELDS.filter(({ name }) =>
  ["allocCount", "totalSize", "totalLifetime", "totalLifetimeAccessDensity"].includes(name),
);

/**
 * Growing table of MIBs: a Uint32Array per field, u64 fields as two words, low word first. Adding two blocks therefore
 * creates no bigints.
 */
export class BlockTable {
  readonly fields: readonly MibField[];
  readonly #words: Uint32Array[];
  #capacity = 256;
  #count = 0;

  constructor(fields: readonly MibField[]) {
    this.fields = fields;
    this.#words = fields.map(({ bytes }) => new Uint32Array((this.#capacity * bytes) / 4));
  }

  get length(): number {
    return this.#count;
  }

  addRow(): number {
    if (this.#count === this.#capacity) this.#grow();
    return this.#count++;
  }

  release(field: number): void {
    this.#words[field] = new Uint32Array(0);
  }

  setNumber(field: number, row: number, value: number | bigint): void {
    const words = this.#words[field]!;
    if (this.fields[field]!.bytes === 4) {
      words[row] = Number(value);
      return;
    }
    const wide = BigInt.asUintN(64, BigInt(value));
    words[2 * row] = Number(wide & 0xffffffffn);
    words[2 * row + 1] = Number(wide >> 32n);
  }

  /** Returns the columns, trimmed to the number of rows. The table is consumed. */
  build(histograms: ReadonlyMap<number, BigUint64Array> = new Map()): MemprofBlocks {
    const columns = this.fields.map(({ bytes }, field) => {
      const words = this.#words[field]!.slice(0, (this.#count * bytes) / 4);
      this.#words[field] = new Uint32Array(0);
      return bytes === 4 ? words : new BigUint64Array(words.buffer);
    });
    return { length: this.#count, fields: this.fields, columns, histograms };
  }

  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * 1.5);
    for (const [field, { bytes }] of this.fields.entries()) {
      const larger = new Uint32Array((this.#capacity * bytes) / 4);
      larger.set(this.#words[field]!);
      this.#words[field] = larger;
    }
  }
}
