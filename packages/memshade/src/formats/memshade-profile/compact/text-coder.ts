import { hash } from "./bit-model.ts";
import { NUMBER_SETS, type SymbolCoder } from "./symbol-coder.ts";

/** What a text is. */
export const TEXT = { name: 0, binary: 1, file: 2 } as const;

/** Sets of weights: for each kind of the byte before, without and with a repetition. */
const KINDS_OF_BYTES = 4;
export const TEXT_SETS = 2 * KINDS_OF_BYTES;
export const SETS = NUMBER_SETS + TEXT_SETS;

const TABLE_BITS = 16;
/** Repetitions are looked at as far back. */
const MOST_REPEATED = 32;
const WORD_BYTES = 20;
/** Bytes in front of the first text. */
const MARGIN = 8;

/**
 * Texts, byte by byte, each ended by a 0. A byte is predicted from those before it, from the word that it stands in, and
 * from what came last behind the same bytes.
 */
export class TextHistory {
  private bytes = new Uint8Array(1 << 12);
  private length = MARGIN;
  /** Where the last five, and the last three, bytes stood before: behind them, or 0. */
  private readonly behindFive = new Int32Array(1 << TABLE_BITS);
  private readonly behindThree = new Int32Array(1 << TABLE_BITS);
  /** What is being repeated, if anything: the place of the next byte, and the bytes that were the same so far. */
  private repeatedAt = 0;
  private repeated = 0;

  /** Forgets all, and knows what another history knows. */
  becomeLike(other: TextHistory): void {
    this.bytes = other.bytes.slice();
    this.length = other.length;
    this.behindFive.set(other.behindFive);
    this.behindThree.set(other.behindThree);
    this.repeatedAt = other.repeatedAt;
    this.repeated = other.repeated;
  }

  /** Codes a text without a NUL. */
  text(coder: SymbolCoder, kind: number, value: string): string {
    const written = new TextEncoder().encode(value);
    const start = this.length;
    for (let at = 0; this.byte(coder, kind, written[at] ?? 0) !== 0; at++);
    return new TextDecoder().decode(this.bytes.subarray(start, this.length - 1));
  }

  private byte(coder: SymbolCoder, kind: number, value: number): number {
    coder.count();
    const { bytes, length, repeated } = this;
    const last = bytes[length - 1]!;
    const two = (bytes[length - 2]! << 8) | last;
    const three = (bytes[length - 3]! << 16) | two;
    const [four, five, six] = [bytes[length - 4]!, bytes[length - 5]!, bytes[length - 6]!];
    coder.model.enter([
      hash(11, kind),
      hash(12, kind, last),
      hash(13, two),
      hash(14, three),
      hash(15, three, four),
      hash(16, three, four, five, six),
      hash(17, this.word()),
    ]);
    const expected = repeated === 0 ? -1 : bytes[this.repeatedAt]!;
    const form = Math.min(2047, 200 + 40 * Math.min(repeated, MOST_REPEATED));
    const trust = repeated < 4 ? 0 : repeated < 8 ? 1 : repeated < 16 ? 2 : 3;
    const set = NUMBER_SETS + 2 * kindOfByte(last);
    let node = 1;
    for (let at = 7; at >= 0; at--) {
      const bit = (value >> at) & 1;
      const isExpected = expected >= 0 && (expected | 256) >> (at + 1) === node;
      const coded = isExpected
        ? coder.bit(set + 1, node, bit, ((expected >> at) & 1) === 1 ? form : -form, trust)
        : coder.bit(set, node, bit);
      node = 2 * node + coded;
    }
    this.append(node & 255, expected);
    return node & 255;
  }

  private append(byte: number, expected: number): void {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    const { bytes } = this;
    bytes[this.length++] = byte;
    if (byte === expected) {
      this.repeated++;
      this.repeatedAt++;
    } else {
      this.repeated = 0;
    }
    const { length } = this;
    const three = (bytes[length - 3]! << 16) | (bytes[length - 2]! << 8) | byte;
    const ofThree = hash(18, three) >>> (32 - TABLE_BITS);
    const ofFive = hash(19, three, bytes[length - 4]!, bytes[length - 5]!) >>> (32 - TABLE_BITS);
    if (this.repeated === 0) this.findRepeated(this.behindFive[ofFive]! || this.behindThree[ofThree]!);
    this.behindThree[ofThree] = length;
    this.behindFive[ofFive] = length;
  }

  private findRepeated(place: number): void {
    const { bytes, length } = this;
    let same = 0;
    while (same < MOST_REPEATED && same < place && bytes[place - 1 - same] === bytes[length - 1 - same])
      same++;
    this.repeatedAt = place;
    this.repeated = same;
  }

  /** The letters up to here. */
  private word(): number {
    const { bytes, length } = this;
    let word = 0;
    for (let at = length - 1; at > length - WORD_BYTES && at >= 0 && isLetter(bytes[at]!); at--) {
      word = Math.imul(word + bytes[at]!, 0x2f0b4c47);
    }
    return word;
  }
}

/** `_` is one. */
function isLetter(byte: number): boolean {
  return (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || byte === 95;
}

function kindOfByte(byte: number): number {
  if (byte >= 97) return 2;
  if (byte >= 65) return 3;
  return byte >= 48 && byte <= 57 ? 1 : 0;
}
