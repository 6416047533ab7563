/** A map from PCs to locations, for one profile at a time: an open hash table of three numbers per entry. */
export class PcCache {
  private lows = new Uint32Array(1 << 12);
  private highs = new Uint32Array(1 << 12);
  /** Location plus one; 0 for an empty slot. */
  private values = new Uint32Array(1 << 12);
  private count = 0;

  clear(): void {
    this.values.fill(0);
    this.count = 0;
  }

  /** The location of a PC, or -1. */
  find(low: number, high: number): number {
    const { lows, highs, values } = this;
    const mask = values.length - 1;
    for (let slot = hashOf(low, high) & mask; ; slot = (slot + 1) & mask) {
      const value = values[slot]!;
      if (value === 0) return -1;
      if (lows[slot] === low && highs[slot] === high) return value - 1;
    }
  }

  /** Adds a PC that is not there. */
  add(low: number, high: number, location: number): void {
    if (2 * ++this.count > this.values.length) this.enlarge();
    this.put(low, high, location + 1);
  }

  private put(low: number, high: number, value: number): void {
    const mask = this.values.length - 1;
    let slot = hashOf(low, high) & mask;
    while (this.values[slot] !== 0) slot = (slot + 1) & mask;
    this.lows[slot] = low;
    this.highs[slot] = high;
    this.values[slot] = value;
  }

  private enlarge(): void {
    const { lows, highs, values } = this;
    this.lows = new Uint32Array(2 * lows.length);
    this.highs = new Uint32Array(2 * lows.length);
    this.values = new Uint32Array(2 * lows.length);
    for (const [slot, value] of values.entries()) if (value !== 0) this.put(lows[slot]!, highs[slot]!, value);
  }
}

function hashOf(low: number, high: number): number {
  const hash = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}
