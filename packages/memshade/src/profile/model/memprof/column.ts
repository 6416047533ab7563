const PAGE_BITS = 16;
const PAGE_ROWS = 1 << PAGE_BITS;
const ROW_MASK = PAGE_ROWS - 1;
/** Initial rows of the first page: most profiles are small. */
const FIRST_ROWS = 1 << 10;

type Words = Uint32Array<ArrayBuffer>;

/**
 * Column of numbers below 2^32, initially 0, of any length. The column is stored in pages, so growing neither copies
 * nor leaves an old array behind, and pages of zeros take no memory.
 */
export class Column {
  #pages: (Words | undefined)[] = [];

  get(row: number): number {
    const page = this.#pages[row >>> PAGE_BITS];
    const at = row & ROW_MASK;
    return page === undefined || at >= page.length ? 0 : page[at]!;
  }

  set(row: number, value: number): void {
    const page = this.#pages[row >>> PAGE_BITS];
    const at = row & ROW_MASK;
    if (page !== undefined && at < page.length) page[at] = value;
    else if (value !== 0) this.#makeRoom(row)[at] = value;
  }

  /** Copies the numbers of some rows to every `step`-th index of an array. */
  gather(rows: Uint32Array, into: Uint32Array, first: number, step: number): void {
    for (let index = 0, at = first; index < rows.length; index++, at += step)
      into[at] = this.get(rows[index]!);
  }

  /** Releases all memory immediately, without waiting for the garbage collector: all numbers are 0 again. */
  release(): void {
    for (const page of this.#pages) freeArray(page);
    this.#pages = [];
  }

  #makeRoom(row: number): Words {
    const number = row >>> PAGE_BITS;
    while (this.#pages.length < number) this.#pages.push(undefined);
    const oldPage = this.#pages[number];
    const page = new Uint32Array(rowsOf(row));
    if (oldPage !== undefined) page.set(oldPage);
    freeArray(oldPage);
    this.#pages[number] = page;
    return page;
  }
}

/** Column whose numbers take one, two or four bytes, depending on the largest so far. */
export class NarrowColumn {
  // Separate arrays per width keep the type of a page known to the compiler.
  #bytes: (Uint8Array<ArrayBuffer> | undefined)[] = [];
  #halves: (Uint16Array<ArrayBuffer> | undefined)[] = [];
  readonly #words = new Column();
  #width: 1 | 2 | 4;

  constructor(least: 1 | 2) {
    this.#width = least;
  }

  get(row: number): number {
    if (this.#width === 4) return this.#words.get(row);
    const page = this.#width === 2 ? this.#halves[row >>> PAGE_BITS] : undefined;
    const at = row & ROW_MASK;
    if (page !== undefined && at < page.length) return page[at]!;
    return this.#width === 1 ? (this.#bytes[row >>> PAGE_BITS]?.[at] ?? 0) : 0;
  }

  set(row: number, value: number): void {
    if (this.#width === 4) {
      this.#words.set(row, value);
      return;
    }
    const page = this.#width === 2 ? this.#halves[row >>> PAGE_BITS] : this.#bytes[row >>> PAGE_BITS];
    const at = row & ROW_MASK;
    const fits = value <= (this.#width === 2 ? 0xffff : 0xff);
    if (fits && page !== undefined && at < page.length) page[at] = value;
    else if (!fits) this.#widen(value).set(row, value);
    else if (value !== 0) this.#makeRoom(row)[at] = value;
  }

  gather(rows: Uint32Array, into: Uint32Array, first: number, step: number): void {
    if (this.#width === 4) this.#words.gather(rows, into, first, step);
    else if (this.#width === 2) gatherPages(this.#halves, rows, into, first, step);
    else gatherBytes(this.#bytes, rows, into, first, step);
  }

  release(): void {
    for (const page of [...this.#bytes, ...this.#halves]) freeArray(page);
    this.#bytes = [];
    this.#halves = [];
    this.#words.release();
  }

  #makeRoom(row: number): Uint8Array | Uint16Array {
    const number = row >>> PAGE_BITS;
    const pages = this.#width === 2 ? this.#halves : this.#bytes;
    while (pages.length < number) pages.push(undefined);
    const oldPage = pages[number];
    const page = this.#width === 2 ? new Uint16Array(rowsOf(row)) : new Uint8Array(rowsOf(row));
    if (oldPage !== undefined) page.set(oldPage);
    freeArray(oldPage);
    pages[number] = page;
    return page;
  }

  #widen(value: number): this {
    const old = this.#width === 1 ? this.#bytes : this.#halves;
    this.#width = value > 0xffff ? 4 : 2;
    for (const [number, page] of old.entries()) {
      // Widening page by page avoids two whole copies of the column.
      if (page === undefined) continue;
      const first = number * PAGE_ROWS;
      for (let at = 0; at < page.length; at++) this.set(first + at, page[at]!);
      freeArray(page);
    }
    old.length = 0;
    return this;
  }
}

// Separate loops per page type keep reads fast: the loop is bound by memory latency only.
function gatherPages(
  pages: readonly (Uint16Array | undefined)[],
  rows: Uint32Array,
  into: Uint32Array,
  first: number,
  step: number,
): void {
  for (let index = 0, place = first; index < rows.length; index++, place += step) {
    const row = rows[index]!;
    const page = pages[row >>> PAGE_BITS];
    const at = row & ROW_MASK;
    into[place] = page === undefined || at >= page.length ? 0 : page[at]!;
  }
}

function gatherBytes(
  pages: readonly (Uint8Array | undefined)[],
  rows: Uint32Array,
  into: Uint32Array,
  first: number,
  step: number,
): void {
  for (let index = 0, place = first; index < rows.length; index++, place += step) {
    const row = rows[index]!;
    const page = pages[row >>> PAGE_BITS];
    const at = row & ROW_MASK;
    into[place] = page === undefined || at >= page.length ? 0 : page[at]!;
  }
}

function rowsOf(row: number): number {
  return row >= PAGE_ROWS ? PAGE_ROWS : Math.max(FIRST_ROWS, 2 ** Math.ceil(Math.log2(row + 1)));
}

/** Releases the memory of an unused array immediately, without waiting for the garbage collector. */
export function freeArray(array: { readonly buffer: ArrayBufferLike } | undefined): void {
  if (array?.buffer instanceof ArrayBuffer) array.buffer.transfer(0);
}
