import { Column, type MemprofBlocks, type MemprofRecords } from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";

/** Takes the sites of a record as they are read. */
export interface SiteReceiver {
  addAllocSite(stack: number, block: number): void;
  addCallSite(stack: number, callees: readonly bigint[]): void;
}

/** Collects records that come one after the other. */
export class RecordColumns implements SiteReceiver {
  readonly #guid: BigUint64Array;
  readonly #allocStart: Uint32Array;
  readonly #callStart: Uint32Array;
  readonly #callees = new Map<number, readonly bigint[]>();
  readonly #allocStack = new Column();
  readonly #allocBlock = new Column();
  readonly #callStack = new Column();
  #count = 0;
  #allocs = 0;
  #calls = 0;

  /** @param length number of records */
  constructor(length: number) {
    this.#guid = new BigUint64Array(length);
    this.#allocStart = new Uint32Array(length + 1);
    this.#callStart = new Uint32Array(length + 1);
  }

  addAllocSite(stack: number, block: number): void {
    this.#allocStack.set(this.#allocs, stack);
    this.#allocBlock.set(this.#allocs++, block);
  }

  addCallSite(stack: number, callees: readonly bigint[]): void {
    if (callees.length > 0) this.#callees.set(this.#calls, callees);
    this.#callStack.set(this.#calls++, stack);
  }

  /** Ends the record whose sites were added since the last call. */
  endRecord(guid: bigint): void {
    this.#guid[this.#count++] = guid;
    this.#allocStart[this.#count] = this.#allocs;
    this.#callStart[this.#count] = this.#calls;
  }

  build(): MemprofRecords {
    const guid = this.#guid;
    const allocStart = this.#allocStart;
    const callStart = this.#callStart;
    const callees = this.#callees;
    return {
      length: this.#count,
      guid,
      allocStart,
      allocStack: arrayOf(this.#allocStack, this.#allocs),
      allocBlock: arrayOf(this.#allocBlock, this.#allocs),
      callStart,
      callStack: arrayOf(this.#callStack, this.#calls),
      callees,
    };
  }
}

/** The numbers of a column, which is given back. */
function arrayOf(column: Column, length: number): Uint32Array {
  const array = new Uint32Array(length);
  for (let row = 0; row < length; row++) array[row] = column.get(row);
  column.release();
  return array;
}

/** Blocks that come in pieces, as one table. */
export function joinBlocks(
  length: number,
  fields: readonly MibField[],
  pieces: Iterable<MemprofBlocks>,
): MemprofBlocks {
  const columns = fields.map(({ bytes }) =>
    bytes === 4 ? new Uint32Array(length) : new BigUint64Array(length),
  );
  const histograms = new Map<number, BigUint64Array>();
  let first = 0;
  for (const piece of pieces) {
    for (const [index, column] of piece.columns.entries()) {
      // The type of a column follows from its field.
      (columns[index] as Uint32Array).set(column as Uint32Array, first);
    }
    for (const [block, histogram] of piece.histograms) histograms.set(first + block, histogram);
    first += piece.length;
  }
  return { length, fields, columns, histograms };
}
