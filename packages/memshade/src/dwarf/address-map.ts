/** Entries per chunk; a full one is split. */
const CHUNK = 512;

interface Chunk {
  lows: number[];
  highs: number[];
  values: number[];
}

/**
 * A map from addresses to the last range added that contains them, as far as ranges are nested or apart. Where a range
 * covers the start of an earlier one only in part, the earlier one keeps its start, as in LLVM's map of subroutines.
 */
export class AddressMap {
  readonly #chunks: Chunk[] = [{ lows: [], highs: [], values: [] }];

  add(low: number, high: number, value: number): void {
    const place = this.#floor(low);
    if (place !== undefined) {
      const [chunk, at] = place;
      const oldHigh = chunk.highs[at];
      const oldValue = chunk.values[at];
      if (low < oldHigh) {
        if (low > chunk.lows[at]) chunk.highs[at] = low;
        // Splits chunks, so the entry at hand comes first.
        if (high < oldHigh) this.#set(high, oldHigh, oldValue);
      }
    }
    this.#set(low, high, value);
  }

  /** The value of the range around `address`, −1 if there is none. */
  get(address: number): number {
    const place = this.#floor(address);
    if (place === undefined) return -1;
    const [chunk, at] = place;
    return address < chunk.highs[at] ? chunk.values[at] : -1;
  }

  /** Chunk and index of the entry with the largest start that is not above `address`. */
  #floor(address: number): [Chunk, number] | undefined {
    const chunk = this.#chunks[this.#chunkAt(address)];
    const at = upperBound(chunk.lows, address) - 1;
    return at < 0 ? undefined : [chunk, at];
  }

  /** Index of the last chunk that starts at `address` or before; the first one if none does. */
  #chunkAt(address: number): number {
    let low = 1;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle].lows[0] > address) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  #set(low: number, high: number, value: number): void {
    const index = this.#chunkAt(low);
    const chunk = this.#chunks[index];
    const at = upperBound(chunk.lows, low);
    if (at > 0 && chunk.lows[at - 1] === low) {
      chunk.highs[at - 1] = high;
      chunk.values[at - 1] = value;
      return;
    }
    if (at === chunk.lows.length) {
      chunk.lows.push(low);
      chunk.highs.push(high);
      chunk.values.push(value);
    } else {
      chunk.lows.splice(at, 0, low);
      chunk.highs.splice(at, 0, high);
      chunk.values.splice(at, 0, value);
    }
    if (chunk.lows.length <= CHUNK) return;
    const half = CHUNK / 2;
    this.#chunks.splice(index + 1, 0, {
      lows: chunk.lows.splice(half),
      highs: chunk.highs.splice(half),
      values: chunk.values.splice(half),
    });
  }
}

/** Index of the first item above `value`. */
function upperBound(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
