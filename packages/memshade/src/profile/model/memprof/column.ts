const PAGE_BITS = 16;
const PAGE_ROWS = 1 << PAGE_BITS;
const ROW_MASK = PAGE_ROWS - 1;
/** The first page of a column begins with so many rows: most profiles are small. */
const FIRST_ROWS = 1 << 10;

type Words = Uint32Array<ArrayBuffer>;

/**
 * A column of numbers below 2^32, all 0 at first, that may grow to any length. It lies in pages, so that growing
 * neither copies nor leaves an old array behind, and pages of zeros are not there at all.
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

  /** Copies the numbers of some rows to every `step`-th place of an array. */
  gather(rows: Uint32Array, into: Uint32Array, first: number, step: number): void {
    for (let index = 0, at = first; index < rows.length; index++, at += step)
      into[at] = this.get(rows[index]!);
  }

  /** Gives everything back at once, without waiting for the garbage collector: all numbers are 0 again. */
  release(): void {
    for (const page of this.#pages) freeArray(page);
    this.#pages = [];
  }

  #makeRoom(row: number): Words {
    const number = row >>> PAGE_BITS;
    while (this.#pages.length < number) this.#pages.push(undefined);
    const known = this.#pages[number];
    const page = new Uint32Array(rowsOf(row));
    if (known !== undefined) page.set(known);
    freeArray(known);
    this.#pages[number] = page;
    return page;
  }
}

/** A column whose numbers take one, two or four bytes, as the largest so far needs. */
export class NarrowColumn {
  // An array of pages for each width: what reads a page then knows its type.
  #bytes: (Uint8Array<ArrayBuffer> | undefined)[] = [];
  #halves: (Uint16Array<ArrayBuffer> | undefined)[] = [];
  readonly #words = new Column();
  #width: 1 | 2 | 4;

  /** @param least bytes of a number at first */
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

  /** As {@link Column.gather}. */
  gather(rows: Uint32Array, into: Uint32Array, first: number, step: number): void {
    if (this.#width === 4) this.#words.gather(rows, into, first, step);
    else if (this.#width === 2) gatherPages(this.#halves, rows, into, first, step);
    else gatherBytes(this.#bytes, rows, into, first, step);
  }

  /** As {@link Column.release}. */
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
    const known = pages[number];
    const page = this.#width === 2 ? new Uint16Array(rowsOf(row)) : new Uint8Array(rowsOf(row));
    if (known !== undefined) page.set(known);
    freeArray(known);
    pages[number] = page;
    return page;
  }

  #widen(value: number): this {
    const old = this.#width === 1 ? this.#bytes : this.#halves;
    this.#width = value > 0xffff ? 4 : 2;
    for (const [number, page] of old.entries()) {
      // Page by page, so that there is never a whole column twice.
      if (page === undefined) continue;
      const first = number * PAGE_ROWS;
      for (let at = 0; at < page.length; at++) this.set(first + at, page[at]!);
      freeArray(page);
    }
    old.length = 0;
    return this;
  }
}

// One loop for each type of page: what reads many numbers in a row waits for memory, not for the loop.
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

/** Rows of the page that a row is to get a place in. */
function rowsOf(row: number): number {
  return row >= PAGE_ROWS ? PAGE_ROWS : Math.max(FIRST_ROWS, 2 ** Math.ceil(Math.log2(row + 1)));
}

/** Gives the memory of an array back that nobody uses any more: it would wait for the garbage collector otherwise. */
export function freeArray(array: { readonly buffer: ArrayBufferLike } | undefined): void {
  if (array?.buffer instanceof ArrayBuffer) array.buffer.transfer(0);
}
