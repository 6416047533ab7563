import { partitionPoint } from "../bytes/partition-point.ts";
import { sortedRows } from "./sort-symbols.ts";

/** What a symbol names. Untyped ones are mostly functions written in assembly. */
export type SymbolKind = "function" | "data" | "untyped";
export type SymbolBinding = "local" | "global" | "weak";

export interface ObjectSymbol {
  /** In the object's own address space; in wasm the offset from the start of the code section's payload. */
  readonly address: number;
  /** In bytes; 0 if the file does not say. */
  readonly size: number;
  /** The linker's name, not demangled. */
  readonly name: string;
  readonly kind: SymbolKind;
  readonly binding: SymbolBinding;
  /** Name of the source file, for local symbols of files that say so (ELF's `STT_FILE`). */
  readonly file?: string;
}

/** Columns of a symbol table in the order of the file; names are decoded when asked for. */
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

/** Symbols sorted by address, then by size; symbols equal in both stand in the order of the file. */
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

  /** Name of the source file of a local symbol, where the table says it. */
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

  /** Index of the last symbol that starts at or before the address, −1 if there is none. */
  lastAtOrBefore(address: number): number {
    const { addresses } = this;
    return partitionPoint(0, addresses.length, (index) => addresses[index] <= address) - 1;
  }

  /**
   * Index of the symbol that llvm-symbolizer takes for an address: the last one that starts at or before it, of several
   * with that start the largest, of equally large ones the last of the file; −1 if it ends before the address.
   */
  indexOf(address: number): number {
    const index = this.lastAtOrBefore(address);
    if (index < 0 || this.sizes[index] === 0) return index;
    return address < this.addresses[index] + this.sizes[index] ? index : -1;
  }

  /** The symbol at `indexOf(address)`; the same object for one address after the other in it. */
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
