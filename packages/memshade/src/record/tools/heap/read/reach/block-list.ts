/**
 * Bits of an address within a region and within a part. The index has a number per region and a table per
 * part.
 */
const [REGION_BITS, PART_BITS] = [8, 20];
const REGIONS = 2 ** (PART_BITS - REGION_BITS);
const PARTS = 2 ** (32 - PART_BITS);
const HIGHS = 2 ** 15;
const NONE = -1;
/** Most allocators align blocks to 16 bytes, so the starts in a region are a mask of 16 bits. */
const ALIGNMENT_BITS = 4;
const REGION_MASK = 2 ** REGION_BITS - 1;
/** Numbers of a region: its first block, and the mask. A bit behind the mask: that block starts before the region. */
const ENTRY = 2;
const STARTS_BEFORE = 2 ** 16;

/** Address ranges of blocks in ascending order. They do not overlap. */
export interface BlockRanges {
  readonly length: number;
  startOf(block: number): number;
  sizeOf(block: number): number;
}

/**
 * Live blocks by address.
 *
 *    upper half ─▶ its parts of 1 MiB ─▶ a part's regions of 256 bytes ─▶ the first block that ends behind the region's start
 *                                  └──▶ for a part inside of a block: the block
 */
export class BlockList {
  readonly length: number;
  readonly ranges: BlockRanges;
  /** 1 if an address with this upper half may be in a block. */
  readonly near = new Uint8Array(HIGHS);
  /** Index of a part's regions, `NONE`, or below that a block; by upper half of the address, then by part. */
  readonly #parts: (Int32Array | undefined)[] = Array.from({ length: HIGHS });
  readonly #regions: Int32Array;

  constructor(ranges: BlockRanges) {
    this.length = ranges.length;
    this.ranges = ranges;
    const divided = this.#takeParts();
    this.#regions = new Int32Array(divided.length * REGIONS * ENTRY);
    this.#fillRegions(divided);
  }

  startOf(block: number): number {
    return this.ranges.startOf(block);
  }

  sizeOf(block: number): number {
    return this.ranges.sizeOf(block);
  }

  #fillRegions(parts: readonly number[]): void {
    let block = 0;
    let end = this.#endOf(block);
    let next = 0;
    let start = this.#startOrEnd(next);
    let place = 0;
    for (const part of parts)
      for (let region = 0; region < REGIONS; region++, place += ENTRY) {
        const from = part * 2 ** PART_BITS + region * 2 ** REGION_BITS;
        while (end <= from) end = this.#endOf(++block);
        while (start < from) start = this.#startOrEnd(++next);
        this.#regions[place] = block;
        let mask = next > block ? STARTS_BEFORE : 0;
        let isAligned = true;
        for (; start <= from + REGION_MASK; start = this.#startOrEnd(++next)) {
          isAligned &&= start % 2 ** ALIGNMENT_BITS === 0;
          mask |= 1 << ((start - from) >>> ALIGNMENT_BITS);
        }
        this.#regions[place + 1] = isAligned ? mask : 0;
      }
  }

  #startOrEnd(block: number): number {
    return block < this.length ? this.startOf(block) : Number.POSITIVE_INFINITY;
  }

  /** @returns the parts that have regions, by address */
  #takeParts(): number[] {
    const divided: number[] = [];
    let lastPart = NONE;
    for (let block = 0; block < this.length; block++) {
      const start = this.startOf(block);
      const end = this.#endOf(block);
      const first = Math.floor(start / 2 ** PART_BITS);
      // The address just behind a block may refer to it, so its part is included.
      const last = Math.floor(end / 2 ** PART_BITS);
      // Most blocks lie in the part of the previous block.
      if (first === lastPart && last === lastPart) continue;
      for (let part = first; part <= last; part++) {
        const high = Math.floor(part / PARTS);
        if (high >= HIGHS) break;
        this.#parts[high] ??= new Int32Array(PARTS).fill(NONE);
        this.near[high] = 1;
        const parts = this.#parts[high];
        const at = part % PARTS;
        const isInside = start <= part * 2 ** PART_BITS && end >= (part + 1) * 2 ** PART_BITS;
        if (isInside) parts[at] = NONE - 1 - block;
        else if (parts[at] === NONE) parts[at] = REGIONS * ENTRY * (divided.push(part) - 1);
      }
      lastPart = last;
    }
    return divided;
  }

  /** Returns the end of a block; an empty block takes a byte. No address is behind the end of no block. */
  #endOf(block: number): number {
    if (block >= this.length) return Number.POSITIVE_INFINITY;
    return this.startOf(block) + Math.max(1, this.sizeOf(block));
  }

  /**
   * Returns the block that contains an address, or the empty block that starts there; −1 if there is none.
   */
  find(address: number): number {
    return this.at(Math.floor(address / 2 ** 32), address >>> 0);
  }

  /** Like `find`, for the two halves of an address. */
  at(high: number, low: number): number {
    const parts = high < HIGHS ? this.#parts[high] : undefined;
    if (parts === undefined) return -1;
    const place = parts[low >>> PART_BITS];
    if (place <= NONE) return NONE - 1 - place;
    const address = high * 2 ** 32 + low;
    let block = this.#regions[place + ENTRY * ((low >>> REGION_BITS) & (REGIONS - 1))];
    if (block >= this.length) return -1;
    let start = this.startOf(block);
    if (start > address) return -1;
    // The sizes lie elsewhere in memory, so only that of the last block before the address is read.
    while (start < address && block + 1 < this.length) {
      const next = this.startOf(block + 1);
      if (next > address) break;
      start = next;
      block++;
    }
    return start === address || address - start < this.sizeOf(block) ? block : -1;
  }

  /** Returns the block that starts at an address, or −1. It misses some, but reads no table of starts or sizes. */
  startingAt(high: number, low: number): number {
    const place = high < HIGHS ? (this.#parts[high]?.[low >>> PART_BITS] ?? NONE) : NONE;
    if (place <= NONE || (low & (2 ** ALIGNMENT_BITS - 1)) !== 0) return -1;
    const at = place + ENTRY * ((low >>> REGION_BITS) & (REGIONS - 1));
    const mask = this.#regions[at + 1];
    const bit = 1 << ((low & REGION_MASK) >>> ALIGNMENT_BITS);
    if ((mask & bit) === 0) return -1;
    return this.#regions[at] + (mask >>> 16) + bitCount(mask & (bit - 1));
  }
}

function bitCount(mask: number): number {
  let bits = mask - ((mask >>> 1) & 0x5555);
  bits = (bits & 0x3333) + ((bits >>> 2) & 0x3333);
  bits = (bits + (bits >>> 4)) & 0x0f0f;
  return (bits + (bits >>> 8)) & 0x1f;
}
