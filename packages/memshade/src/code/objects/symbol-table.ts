import { partitionPoint } from "../../ground/bytes/columns.ts";

const RADIX_BITS = 11;
const RADIX = 1 << RADIX_BITS;

export function sortedRows(addresses: Float64Array, sizes: Float64Array): Uint32Array {
  const rows = sortRowsByAddress(addresses);
  // Runs of equal addresses are short, mostly aliases; only they are compared by size.
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    while (end < rows.length && addresses[rows[end]] === addresses[rows[start]]) end++;
    if (end - start > 1) rows.subarray(start, end).sort((a, b) => sizes[a] - sizes[b] || a - b);
    start = end;
  }
  return rows;
}

function sortRowsByAddress(addresses: Float64Array): Uint32Array {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  let isSorted = true;
  for (let row = 0; row < addresses.length; row++) {
    const address = addresses[row];
    if (address < highest) isSorted = false;
    if (address < lowest) lowest = address;
    if (address > highest) highest = address;
  }
  const rows = new Uint32Array(addresses.length);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  if (isSorted) return rows;
  if (highest - lowest >= 2 ** 32) return rows.sort((a, b) => addresses[a] - addresses[b] || a - b);
  const keys = new Uint32Array(addresses.length);
  for (let row = 0; row < keys.length; row++) keys[row] = addresses[row] - lowest;
  return radixSort(rows, keys);
}

/** Sorts rows by their 32-bit keys, stably. Large tables have hundreds of thousands of symbols. */
function radixSort(rows: Uint32Array, keys: Uint32Array): Uint32Array {
  let from = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  const ends = new Uint32Array(RADIX);
  for (let shift = 0; shift < 32; shift += RADIX_BITS) {
    ends.fill(0);
    for (let i = 0; i < keys.length; i++) ends[(keys[i] >>> shift) & (RADIX - 1)]++;
    for (let digit = 0, sum = 0; digit < RADIX; digit++) {
      const count = ends[digit];
      ends[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < from.length; i++) {
      const row = from[i];
      to[ends[(keys[row] >>> shift) & (RADIX - 1)]++] = row;
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Kind of a symbol. Untyped symbols are mostly functions written in assembly. */
export type SymbolKind = "function" | "data" | "untyped";
export type SymbolBinding = "local" | "global" | "weak";

export interface ObjectSymbol {
  /** Address in the object's own address space; in wasm, the offset from the start of the code section's payload. */
  readonly address: number;
  /** Size in bytes; 0 if the file has none. */
  readonly size: number;
  /** Linker name, not demangled. */
  readonly name: string;
  readonly kind: SymbolKind;
  readonly binding: SymbolBinding;
  /** Name of the source file, for local symbols of files that record it (ELF's `STT_FILE`). */
  readonly file?: string;
}

/** Columns of a symbol table in the order of the file; names are decoded on demand. */
export interface SymbolColumns {
  readonly addresses: Float64Array;
  readonly sizes: Float64Array;
  /** `kindIndex | bindingIndex << 2`, indices into `SYMBOL_KINDS` and `SYMBOL_BINDINGS` */
  readonly traits: Uint8Array;
  readonly nameOf: (row: number) => string;
  readonly fileOf?: (row: number) => string | undefined;
}

export const SYMBOL_KINDS: readonly SymbolKind[] = ["function", "data", "untyped"];
export const SYMBOL_BINDINGS: readonly SymbolBinding[] = ["local", "global", "weak"];

/** Symbols sorted by address, then by size, then by their order in the file. */
export class SymbolTable implements Iterable<ObjectSymbol> {
  static readonly EMPTY: SymbolTable = new SymbolTable({
    addresses: new Float64Array(0),
    sizes: new Float64Array(0),
    traits: new Uint8Array(0),
    nameOf: () => "",
  });

  /** Start addresses in ascending order. */
  readonly addresses: Float64Array;
  readonly sizes: Float64Array;
  readonly #columns: SymbolColumns;
  readonly #order: Uint32Array;
  #foundIndex = -1;
  #found: ObjectSymbol | undefined;

  constructor(columns: SymbolColumns) {
    this.#columns = columns;
    this.#order = sortedRows(columns.addresses, columns.sizes);
    this.addresses = new Float64Array(this.#order.length);
    this.sizes = new Float64Array(this.#order.length);
    for (let index = 0; index < this.#order.length; index++) {
      this.addresses[index] = columns.addresses[this.#order[index]];
      this.sizes[index] = columns.sizes[this.#order[index]];
    }
  }

  get length(): number {
    return this.#order.length;
  }

  name(index: number): string {
    return this.#columns.nameOf(this.#order[index]);
  }

  kind(index: number): SymbolKind {
    return SYMBOL_KINDS[this.#columns.traits[this.#order[index]] & 3];
  }

  binding(index: number): SymbolBinding {
    return SYMBOL_BINDINGS[this.#columns.traits[this.#order[index]] >> 2];
  }

  /** Returns the source file of a local symbol, if recorded. */
  file(index: number): string | undefined {
    return this.#columns.fileOf?.(this.#order[index]);
  }

  at(index: number): ObjectSymbol {
    const file = this.file(index);
    return {
      ...(file === undefined ? {} : { file }),
      address: this.addresses[index],
      size: this.sizes[index],
      name: this.name(index),
      kind: this.kind(index),
      binding: this.binding(index),
    };
  }

  *[Symbol.iterator](): IterableIterator<ObjectSymbol> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  /** Returns the index of the last symbol that starts at or before the address, −1 if there is none. */
  lastAtOrBefore(address: number): number {
    const { addresses } = this;
    return partitionPoint(0, addresses.length, (index) => addresses[index] <= address) - 1;
  }

  /**
   * Returns the index of the symbol that llvm-symbolizer chooses for an address. This is the last symbol that
   * starts at or before it; of several with that start the largest, of equally large ones the last in the
   * file. −1 if the symbol ends before the address.
   */
  indexOf(address: number): number {
    const index = this.lastAtOrBefore(address);
    if (index < 0 || this.sizes[index] === 0) return index;
    return address < this.addresses[index] + this.sizes[index] ? index : -1;
  }

  /**
   * Returns the symbol at `indexOf(address)`. Consecutive lookups within one symbol return the same object.
   */
  find(address: number): ObjectSymbol | undefined {
    const index = this.indexOf(address);
    if (index < 0) return undefined;
    if (index !== this.#foundIndex || this.#found === undefined) {
      this.#foundIndex = index;
      this.#found = this.at(index);
    }
    return this.#found;
  }
}
