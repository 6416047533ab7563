/**
 * The LZMA decoder inside of LZMA2 (the LZMA specification by its author, 2015): a range decoder over adaptive bits, and
 * a state machine over literals, matches and matches with one of the last four distances.
 */

const INITIAL = 1024;
const MOVE_BITS = 5;
const TOP = 2 ** 24;
const MATCH_MIN = 2;
const STATES = 12;
const POSITIONS = 16;
const LITERAL_PROBS = 0x300;

// Where the probabilities of each kind of bit stand. Those of lengths: two choices, then 3, 3 and 8 bits.
const LENGTH_PROBS = 2 + POSITIONS * 8 + POSITIONS * 8 + 256;
const IS_MATCH = 0;
const IS_REP = IS_MATCH + STATES * POSITIONS;
const IS_REP_G0 = IS_REP + STATES;
const IS_REP_G1 = IS_REP_G0 + STATES;
const IS_REP_G2 = IS_REP_G1 + STATES;
const IS_REP0_LONG = IS_REP_G2 + STATES;
const DISTANCE_SLOT = IS_REP0_LONG + STATES * POSITIONS;
const DISTANCE_SPECIAL = DISTANCE_SLOT + 4 * 64;
const DISTANCE_ALIGN = DISTANCE_SPECIAL + 128;
const MATCH_LENGTH = DISTANCE_ALIGN + 16;
const REP_LENGTH = MATCH_LENGTH + LENGTH_PROBS;
const LITERAL = REP_LENGTH + LENGTH_PROBS;

/** Decodes LZMA chunks into an output that is the dictionary too. Its methods give false for damaged input. */
export class LzmaDecoder {
  output: Uint8Array<ArrayBuffer>;
  /** Bytes of the output so far. */
  length = 0;
  /** No distance reaches in front of this place. */
  dictionaryStart = 0;
  readonly #input: Uint8Array;
  #probs = new Uint16Array(LITERAL);
  // Properties: bits of the position and of the byte before that literals look at, and position bits elsewhere.
  #literalContext = 0;
  #literalPosition = 0;
  #position = 0;
  #state = 0;
  #rep0 = 0;
  #rep1 = 0;
  #rep2 = 0;
  #rep3 = 0;
  // The range decoder.
  #at = 0;
  #range = 0;
  #code = 0;

  constructor(input: Uint8Array, expectedBytes: number) {
    this.#input = input;
    this.output = new Uint8Array(expectedBytes);
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.length + count <= this.output.length) return;
    const larger = new Uint8Array(Math.max(this.length + count, 2 * this.output.length));
    larger.set(this.output.subarray(0, this.length));
    this.output = larger;
  }

  setProperties(byte: number): boolean {
    if (byte >= 9 * 5 * 5) return false;
    this.#literalContext = byte % 9;
    this.#literalPosition = Math.floor(byte / 9) % 5;
    this.#position = Math.floor(byte / 45);
    return this.#literalContext + this.#literalPosition <= 4;
  }

  resetState(): void {
    const size = LITERAL + (LITERAL_PROBS << (this.#literalContext + this.#literalPosition));
    if (size !== this.#probs.length) this.#probs = new Uint16Array(size);
    this.#probs.fill(INITIAL);
    this.#state = 0;
    this.#rep0 = 0;
    this.#rep1 = 0;
    this.#rep2 = 0;
    this.#rep3 = 0;
  }

  /** Decodes `count` bytes from the input `[start, end)`, for which there is room. */
  decode(start: number, end: number, count: number): boolean {
    const input = this.#input;
    if (end - start < 5) return false;
    this.#range = 0xffff_ffff;
    this.#code = ((input[start + 1]! << 24) | (input[start + 2]! << 16) | (input[start + 3]! << 8)) >>> 0;
    this.#code += input[start + 4]!;
    this.#at = start + 5;
    const limit = this.length + count;
    while (this.length < limit) {
      const position = this.length & ((1 << this.#position) - 1);
      if (this.#bit(IS_MATCH + this.#state * POSITIONS + position) === 0) this.#literal();
      else {
        const matched = this.#match(position);
        if (!this.#copy(matched, limit)) return false;
      }
      if (this.#at > end) return false;
    }
    return true;
  }

  #bit(index: number): number {
    const probs = this.#probs;
    const probability = probs[index]!;
    const bound = (this.#range >>> 11) * probability;
    let bit: number;
    if (this.#code < bound) {
      this.#range = bound;
      probs[index] = probability + ((2048 - probability) >> MOVE_BITS);
      bit = 0;
    } else {
      this.#range -= bound;
      this.#code -= bound;
      probs[index] = probability - (probability >> MOVE_BITS);
      bit = 1;
    }
    if (this.#range < TOP) this.#normalize();
    return bit;
  }

  #normalize(): void {
    this.#range = (this.#range << 8) >>> 0;
    this.#code = ((this.#code << 8) | (this.#input[this.#at++] ?? 0)) >>> 0;
  }

  /** Bits that are as likely 0 as 1. */
  #directBits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++) {
      this.#range >>>= 1;
      const bit = this.#code >= this.#range ? 1 : 0;
      if (bit === 1) this.#code -= this.#range;
      value = value * 2 + bit;
      if (this.#range < TOP) this.#normalize();
    }
    return value;
  }

  /** A number of `bits` bits, the highest first. */
  #tree(probs: number, bits: number): number {
    let node = 1;
    for (let i = 0; i < bits; i++) node = node * 2 + this.#bit(probs + node);
    return node - (1 << bits);
  }

  /** A number of `bits` bits, the lowest first. */
  #reverseTree(probs: number, bits: number): number {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const bit = this.#bit(probs + node);
      node = node * 2 + bit;
      value |= bit << i;
    }
    return value;
  }

  #literal(): void {
    const { output, length } = this;
    const before = length > this.dictionaryStart ? output[length - 1]! : 0;
    const low = length & ((1 << this.#literalPosition) - 1);
    const context = (low << this.#literalContext) + (before >> (8 - this.#literalContext));
    const probs = LITERAL + LITERAL_PROBS * context;
    let symbol = 1;
    if (this.#state >= 7) {
      // Behind a match the byte that it would have gone on with is a hint, as long as it is right.
      let hint = output[length - this.#rep0 - 1] ?? 0;
      while (symbol < 0x100) {
        const hinted = (hint >> 7) & 1;
        hint <<= 1;
        const bit = this.#bit(probs + ((1 + hinted) << 8) + symbol);
        symbol = symbol * 2 + bit;
        if (bit !== hinted) break;
      }
    }
    while (symbol < 0x100) symbol = symbol * 2 + this.#bit(probs + symbol);
    output[length] = symbol;
    this.length++;
    this.#state = this.#state < 4 ? 0 : this.#state < 10 ? this.#state - 3 : this.#state - 6;
  }

  /** Reads a match, sets its distance, and returns its length. */
  #match(position: number): number {
    const state = this.#state;
    if (this.#bit(IS_REP + state) === 0) {
      this.#rep3 = this.#rep2;
      this.#rep2 = this.#rep1;
      this.#rep1 = this.#rep0;
      const length = this.#matchLength(MATCH_LENGTH, position);
      this.#rep0 = this.#distance(length);
      this.#state = state < 7 ? 7 : 10;
      return length;
    }
    if (this.#bit(IS_REP_G0 + state) === 0) {
      if (this.#bit(IS_REP0_LONG + state * POSITIONS + position) === 0) {
        this.#state = state < 7 ? 9 : 11;
        return 1;
      }
    } else {
      this.#takeEarlierDistance(state);
    }
    this.#state = state < 7 ? 8 : 11;
    return this.#matchLength(REP_LENGTH, position);
  }

  #takeEarlierDistance(state: number): void {
    let distance = this.#rep1;
    if (this.#bit(IS_REP_G1 + state) !== 0) {
      distance = this.#rep2;
      if (this.#bit(IS_REP_G2 + state) !== 0) {
        distance = this.#rep3;
        this.#rep3 = this.#rep2;
      }
      this.#rep2 = this.#rep1;
    }
    this.#rep1 = this.#rep0;
    this.#rep0 = distance;
  }

  #matchLength(probs: number, position: number): number {
    if (this.#bit(probs) === 0) return MATCH_MIN + this.#tree(probs + 2 + 8 * position, 3);
    if (this.#bit(probs + 1) === 0)
      return MATCH_MIN + 8 + this.#tree(probs + 2 + 8 * (POSITIONS + position), 3);
    return MATCH_MIN + 16 + this.#tree(probs + 2 + 16 * POSITIONS, 8);
  }

  /** The distance of a new match, less one. */
  #distance(length: number): number {
    const slot = this.#tree(DISTANCE_SLOT + 64 * Math.min(length - MATCH_MIN, 3), 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 + (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + this.#reverseTree(DISTANCE_SPECIAL + base - slot, bits);
    return base + this.#directBits(bits - 4) * 16 + this.#reverseTree(DISTANCE_ALIGN, 4);
  }

  #copy(count: number, limit: number): boolean {
    const { output, length } = this;
    const from = length - this.#rep0 - 1;
    if (from < this.dictionaryStart || length + count > limit) return false;
    for (let i = 0; i < count; i++) output[length + i] = output[from + i]!;
    this.length += count;
    return true;
  }
}
