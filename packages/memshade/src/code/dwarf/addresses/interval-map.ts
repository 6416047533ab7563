const LARGEST_CHUNK = 128;

interface Chunk {
  /** Sorted. */
  starts: Float64Array;
  ends: Float64Array;
  values: Int32Array;
  count: number;
}

/**
 * Intervals of addresses with a value each, of which later ones lie inside of earlier ones, or beside them.
 *
 * An interval that is put in cuts the one around its start in up to three pieces. What starts inside of it stays. That is
 * how llvm-symbolizer resolves overlaps that should not be there, so that answers agree on these too. Sorted chunks keep
 * the work small in whatever order intervals come.
 */
export class IntervalMap {
  readonly #chunks: Chunk[] = [newChunk()];
  /** The chunk of the last insertion: mostly that of the next one. */
  #recent = 0;

  add(low: number, high: number, value: number): void {
    if (low === high) return;
    const at = this.#seek(low);
    const chunk = this.#chunks[this.#recent];
    if (at >= 0 && low < chunk.ends[at]) {
      const start = chunk.starts[at];
      // In this order also where `high` is below `low`, which damaged programs have.
      if (high < chunk.ends[at]) this.#set(high, chunk.ends[at], chunk.values[at]);
      if (low > start) this.#setEnd(start, low);
    }
    this.#set(low, high, value);
  }

  /** Value of the interval with the largest start at or below an address, if it reaches that far; else −1. */
  find(address: number): number {
    const at = this.#seek(address);
    if (at < 0) return -1;
    const chunk = this.#chunks[this.#recent];
    return address < chunk.ends[at] ? chunk.values[at] : -1;
  }

  #setEnd(start: number, end: number): void {
    const at = this.#seek(start);
    this.#chunks[this.#recent].ends[at] = end;
  }

  #set(start: number, end: number, value: number): void {
    const at = this.#seek(start);
    let chunk = this.#chunks[this.#recent];
    if (at >= 0 && chunk.starts[at] === start) {
      chunk.ends[at] = end;
      chunk.values[at] = value;
      return;
    }
    let place = at + 1;
    if (chunk.count === chunk.starts.length)
      if (chunk.count < LARGEST_CHUNK) grow(chunk);
      else {
        const upper = split(chunk);
        this.#chunks.splice(this.#recent + 1, 0, upper);
        if (place > chunk.count) {
          place -= chunk.count;
          this.#recent++;
          chunk = upper;
        }
      }
    const { starts, ends, values } = chunk;
    // Mostly there is little behind the place: no call of a function that moves much.
    for (let at = chunk.count; at > place; at--) {
      starts[at] = starts[at - 1];
      ends[at] = ends[at - 1];
      values[at] = values[at - 1];
    }
    starts[place] = start;
    ends[place] = end;
    values[place] = value;
    chunk.count++;
  }

  /** Makes the chunk recent that has the last start at or below an address, and returns its place there, or −1. */
  #seek(address: number): number {
    const chunks = this.#chunks;
    const recent = chunks[this.#recent];
    const next = chunks[this.#recent + 1];
    const fits =
      recent.count > 0 && recent.starts[0] <= address && (next === undefined || address < next.starts[0]);
    if (!fits) {
      let low = 0;
      let high = chunks.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (chunks[middle].count > 0 && chunks[middle].starts[0] <= address) low = middle + 1;
        else high = middle;
      }
      this.#recent = Math.max(0, low - 1);
    }
    const { starts, count } = chunks[this.#recent];
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function newChunk(): Chunk {
  return { starts: new Float64Array(16), ends: new Float64Array(16), values: new Int32Array(16), count: 0 };
}

function grow(chunk: Chunk): void {
  const { starts, ends, values } = chunk;
  chunk.starts = new Float64Array(starts.length * 2);
  chunk.ends = new Float64Array(starts.length * 2);
  chunk.values = new Int32Array(starts.length * 2);
  chunk.starts.set(starts);
  chunk.ends.set(ends);
  chunk.values.set(values);
}

/** Moves the upper half into a new chunk. */
function split(chunk: Chunk): Chunk {
  const half = chunk.count >> 1;
  const move = <T extends Float64Array | Int32Array>(column: T): T => {
    const target = column.slice() as T;
    target.copyWithin(0, half, chunk.count);
    return target;
  };
  const upper = {
    starts: move(chunk.starts),
    ends: move(chunk.ends),
    values: move(chunk.values),
    count: chunk.count - half,
  };
  chunk.count = half;
  return upper;
}
