/** Codes bits of a known probability: a writer takes them, a reader returns what was written. */
export interface BinaryCoder {
  /**
   * @param bit ignored by readers
   * @param probability that it is 1, of 4096
   */
  code(bit: number, probability: number): number;
}

/** There are no more bits. */
export class EndOfBits extends Error {}

/** Takes bits and keeps nothing of them. */
export const NO_CODER: BinaryCoder = { code: (bit) => bit };

/** Of an interval `low` to `high`, both included, the lower part belongs to bit 1. */
function split(low: number, high: number, probability: number): number {
  return low + Math.floor((high - low) / 4096) * probability + ((((high - low) & 4095) * probability) >>> 12);
}

/** Bits as a binary fraction within ever smaller intervals of 32 bits. */
export class ArithmeticWriter implements BinaryCoder {
  private readonly bytes: number[] = [];
  private low = 0;
  private high = 0xffffffff;

  code(bit: number, probability: number): number {
    const middle = split(this.low, this.high, probability);
    if (bit === 1) this.high = middle;
    else this.low = middle + 1;
    while (((this.low ^ this.high) & 0xff000000) === 0) {
      this.bytes.push(this.low >>> 24);
      this.low = (this.low << 8) >>> 0;
      this.high = ((this.high << 8) | 0xff) >>> 0;
    }
    return bit;
  }

  /** The shortest bytes that, with zeros behind them, lie in the interval. */
  finish(): Uint8Array {
    for (let kept = 0; ; kept++) {
      const unit = 2 ** (32 - 8 * kept);
      const value = Math.ceil(this.low / unit) * unit;
      if (value > this.high) continue;
      for (let at = 0; at < kept; at++) this.bytes.push(Math.floor(value / 2 ** (24 - 8 * at)) & 0xff);
      return Uint8Array.from(this.bytes);
    }
  }
}

/** So far a reader looks ahead. */
const AHEAD = 4;

/** Reads what {@link ArithmeticWriter} has written. Behind the end are zeros. */
export class ArithmeticReader implements BinaryCoder {
  private readonly bytes: Uint8Array;
  private position = 0;
  private low = 0;
  private high = 0xffffffff;
  private value = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    for (let at = 0; at < AHEAD; at++) this.value = ((this.value << 8) | this.next()) >>> 0;
  }

  /** @throws EndOfBits */
  code(_bit: number, probability: number): number {
    const middle = split(this.low, this.high, probability);
    const bit = this.value <= middle ? 1 : 0;
    if (bit === 1) this.high = middle;
    else this.low = middle + 1;
    while (((this.low ^ this.high) & 0xff000000) === 0) {
      this.low = (this.low << 8) >>> 0;
      this.high = ((this.high << 8) | 0xff) >>> 0;
      this.value = ((this.value << 8) | this.next()) >>> 0;
    }
    return bit;
  }

  private next(): number {
    if (this.position >= this.bytes.length + AHEAD) throw new EndOfBits();
    return this.bytes[this.position++] ?? 0;
  }
}
