import { partitionPoint } from "../../../ground/bytes/columns.ts";

/** File and position that a line table gives for an address. */
export interface LinePlace {
  readonly file: number;
  readonly line: number;
  readonly column: number;
  readonly discriminator: number;
}

/** Section of addresses that belong to the program as a whole, not to one section of a relocatable object. */
export const NO_SECTION = -1;

interface Sequence {
  readonly low: number;
  readonly high: number;
  /** Indices of its rows; the last row is its end. */
  readonly first: number;
  readonly last: number;
  readonly section: number;
}

interface RowColumns {
  addresses: Float64Array;
  lines: Uint32Array;
  files: Uint32Array;
  columns: Uint16Array;
  /** Most programs have no discriminators; others have them for few rows. */
  discriminators: Uint32Array;
}

/** Buffers for rows while a table is read. All tables share them, since they are read one after the other. */
let growing: RowColumns = newColumns(0);

function newColumns(size: number): RowColumns {
  return {
    addresses: new Float64Array(size),
    lines: new Uint32Array(size),
    files: new Uint32Array(size),
    columns: new Uint16Array(size),
    discriminators: new Uint32Array(size),
  };
}

/** Columns of a line table's rows, in the program's order, and the sequences among them. */
export class LineRows {
  #addresses: Float64Array | Uint32Array = new Uint32Array(0);
  #lines = new Uint32Array(0);
  #files: Uint32Array | Uint16Array = new Uint16Array(0);
  #columns = new Uint16Array(0);
  #discriminators: Uint32Array | undefined;
  #highest = 0;
  #highestFile = 0;
  #hasDiscriminators = false;
  #count = 0;
  section = NO_SECTION;
  #sequences: Sequence[] = [];
  #sequenceStart = -1;

  get count(): number {
    return this.#count;
  }

  /** Adds a row. Only one table at a time can be filled, until its `finish`. */
  add(address: number, file: number, line: number, column: number, discriminator: number): void {
    const at = this.#count;
    if (at === growing.lines.length) grow();
    const { addresses, lines, files, columns, discriminators } = growing;
    addresses[at] = address;
    lines[at] = line;
    files[at] = file;
    columns[at] = column;
    discriminators[at] = discriminator;
    if (address > this.#highest) this.#highest = address;
    if (file > this.#highestFile) this.#highestFile = file;
    if (discriminator !== 0) this.#hasDiscriminators = true;
    if (this.#sequenceStart < 0) this.#sequenceStart = at;
    this.#count++;
  }

  endSequence(): void {
    const first = this.#sequenceStart;
    const last = this.#count - 1;
    this.#sequenceStart = -1;
    const low = growing.addresses[first];
    const high = growing.addresses[last];
    if (low < high) this.#sequences.push({ low, high, first, last, section: this.section });
  }

  finish(): this {
    this.#keep(growing);
    this.#sequences.sort((a, b) => a.section - b.section || a.high - b.high || a.first - b.first);
    return this;
  }

  /** Returns the last row at or before an address, in the sequence around it. */
  find(
    address: number,
    section: number,
    skipLineZero: boolean,
  ): (LinePlace & { approximate?: boolean }) | undefined {
    const sequence =
      (section === NO_SECTION ? undefined : this.#sequenceAt(address, section)) ??
      this.#sequenceAt(address, NO_SECTION);
    if (sequence === undefined) return undefined;
    const row = this.#rowAt(address, sequence);
    if (skipLineZero && this.#lines[row] === 0)
      for (let at = row; at >= sequence.first; at--)
        if (this.#lines[at] !== 0) return { ...this.#placeOf(at), approximate: true };
    return this.#placeOf(row);
  }

  #placeOf(row: number): LinePlace {
    return {
      file: this.#files[row],
      line: this.#lines[row],
      column: this.#columns[row],
      discriminator: this.#discriminators?.[row] ?? 0,
    };
  }

  #sequenceAt(address: number, section: number): Sequence | undefined {
    const sequences = this.#sequences;
    const at = partitionPoint(0, sequences.length, (index) => {
      const { section: ofSequence, high } = sequences[index];
      return ofSequence < section || (ofSequence === section && high <= address);
    });
    const sequence = sequences[at];
    return sequence?.section === section && sequence.low <= address ? sequence : undefined;
  }

  #rowAt(address: number, sequence: Sequence): number {
    const addresses = this.#addresses;
    let low = sequence.first + 1;
    let high = sequence.last;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (addresses[middle] <= address) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Copies the rows into columns of their own, as narrow as possible. */
  #keep({ addresses, lines, files, columns, discriminators }: RowColumns): void {
    const count = this.#count;
    this.#addresses =
      this.#highest > 0xffffffff ? addresses.slice(0, count) : new Uint32Array(addresses.subarray(0, count));
    this.#lines = lines.slice(0, count);
    this.#files =
      this.#highestFile > 0xffff ? files.slice(0, count) : new Uint16Array(files.subarray(0, count));
    this.#columns = columns.slice(0, count);
    if (this.#hasDiscriminators) this.#discriminators = discriminators.slice(0, count);
  }
}

function grow(): void {
  const larger = newColumns(Math.max(1 << 12, growing.lines.length * 2));
  for (const name of Object.keys(growing) as (keyof RowColumns)[]) larger[name].set(growing[name]);
  growing = larger;
}
