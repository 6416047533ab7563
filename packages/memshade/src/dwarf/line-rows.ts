/** What a line table says of one place. */
export interface LinePlace {
  readonly file: number;
  readonly line: number;
  readonly column: number;
  readonly discriminator: number;
}

/** The section of addresses that are the program's, and not those of one section of a relocatable object. */
export const NO_SECTION = -1;

interface Sequence {
  /** Address of its first row. */
  readonly low: number;
  /** Address behind its last instruction. */
  readonly high: number;
  /** Its rows, the last one being its end. */
  readonly first: number;
  readonly last: number;
  readonly section: number;
}

/** Columns of a line table's rows, in the order in which the program made them, and the sequences among them. */
export class LineRows {
  #addresses: Float64Array | Uint32Array = new Uint32Array(64);
  #lines = new Uint32Array(64);
  #files = new Uint16Array(64);
  #columns = new Uint16Array(64);
  /** Most programs have none; those that do have them for few rows. */
  #discriminators: Uint32Array | undefined;
  #largeFiles: Map<number, number> | undefined;
  #count = 0;
  /** Section of the addresses that are added. */
  section = NO_SECTION;
  #sequences: Sequence[] = [];
  #sequenceStart = -1;

  get count(): number {
    return this.#count;
  }

  add(address: number, file: number, line: number, column: number, discriminator: number): void {
    const at = this.#count;
    if (at === this.#lines.length) this.#grow();
    if (address > 0xffffffff && this.#addresses instanceof Uint32Array) {
      this.#addresses = Float64Array.from(this.#addresses);
    }
    this.#addresses[at] = address;
    this.#lines[at] = line;
    this.#files[at] = file;
    this.#columns[at] = column;
    if (file > 0xffff) {
      this.#largeFiles ??= new Map();
      this.#largeFiles.set(at, file);
    }
    if (discriminator !== 0) {
      this.#discriminators ??= new Uint32Array(this.#lines.length);
      this.#discriminators[at] = discriminator;
    }
    if (this.#sequenceStart < 0) this.#sequenceStart = at;
    this.#count++;
  }

  /** Ends the sequence with the row that was added last. */
  endSequence(): void {
    const first = this.#sequenceStart;
    const last = this.#count - 1;
    this.#sequenceStart = -1;
    const low = this.#addresses[first];
    const high = this.#addresses[last];
    if (low < high) this.#sequences.push({ low, high, first, last, section: this.section });
  }

  /** To be called when all rows are there. */
  finish(): this {
    this.#trim();
    this.#sequences.sort((a, b) => a.section - b.section || a.high - b.high || a.first - b.first);
    return this;
  }

  /** The last row at or before an address, in the sequence around it. */
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
    if (skipLineZero && this.#lines[row] === 0) {
      for (let at = row; at >= sequence.first; at--) {
        if (this.#lines[at] !== 0) return { ...this.#placeOf(at), approximate: true };
      }
    }
    return this.#placeOf(row);
  }

  #placeOf(row: number): LinePlace {
    return {
      file: this.#largeFiles?.get(row) ?? this.#files[row],
      line: this.#lines[row],
      column: this.#columns[row],
      discriminator: this.#discriminators?.[row] ?? 0,
    };
  }

  #sequenceAt(address: number, section: number): Sequence | undefined {
    const sequences = this.#sequences;
    let low = 0;
    let high = sequences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const before = sequences[middle];
      if (before.section < section || (before.section === section && before.high <= address))
        low = middle + 1;
      else high = middle;
    }
    const sequence = sequences[low];
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

  /** Gives back what growing left empty. */
  #trim(): void {
    const count = this.#count;
    this.#addresses = this.#addresses.slice(0, count);
    this.#lines = this.#lines.slice(0, count);
    this.#files = this.#files.slice(0, count);
    this.#columns = this.#columns.slice(0, count);
    this.#discriminators = this.#discriminators?.slice(0, count);
  }

  #grow(): void {
    const size = this.#lines.length * 2;
    const grown = <T extends Uint16Array | Uint32Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#addresses =
      this.#addresses instanceof Uint32Array
        ? grown(this.#addresses, new Uint32Array(size))
        : grown(this.#addresses, new Float64Array(size));
    this.#lines = grown(this.#lines, new Uint32Array(size));
    this.#files = grown(this.#files, new Uint16Array(size));
    this.#columns = grown(this.#columns, new Uint16Array(size));
    if (this.#discriminators) this.#discriminators = grown(this.#discriminators, new Uint32Array(size));
  }
}
