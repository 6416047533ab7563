import type { BinaryCoder } from "./arithmetic.ts";
import { type BitModel, hash } from "./bit-model.ts";
import { COLUMNS } from "./columns.ts";

/** Sets of weights of a column of numbers: whether they are 0, how long they are, and the rest. */
const SETS_PER_COLUMN = 3;
export const NUMBER_SETS = SETS_PER_COLUMN * COLUMNS;

/** So many bits behind the first of a number are told apart by all that stand before them. */
const KNOWN_BITS = 14;
const LENGTH_BITS = 6;

/** More symbols than a reader or writer is allowed. */
export class TooManySymbols extends Error {}

/**
 * Numbers, one after the other, to or from bits. Writers hand in what is written; what readers hand in does not matter.
 * Both get what is written.
 */
export class SymbolCoder {
  readonly model: BitModel;
  private readonly coder: BinaryCoder;
  private readonly mostSymbols: number;
  private coded = 0;

  constructor(model: BitModel, coder: BinaryCoder, mostSymbols: number) {
    this.model = model;
    this.coder = coder;
    this.mostSymbols = mostSymbols;
  }

  /** Symbols so far. */
  get symbols(): number {
    return this.coded;
  }

  /** @throws TooManySymbols */
  count(): void {
    if (++this.coded > this.mostSymbols) throw new TooManySymbols();
  }

  /** A number below 2^53 of a column, in two contexts of its own. */
  number(column: number, x: number, y: number, value: number): number {
    return Number(this.wide(column, x, y, BigInt(value)));
  }

  /** A number below 2^64. */
  wide(column: number, x: number, y: number, value: bigint): bigint {
    this.count();
    const { model } = this;
    const set = SETS_PER_COLUMN * column;
    model.enter([hash(column), hash(column, 1, x), hash(column, 2, y), hash(column, 3, x, y)]);
    const length = value.toString(2).length;
    if (this.bit(set, 0, value === 0n ? 0 : 1) === 0) return 0n;
    let node = 1;
    for (let at = LENGTH_BITS - 1; at >= 0; at--) {
      node = 2 * node + this.bit(set + 1, node, ((length - 1) >> at) & 1);
    }
    const rest = node - (1 << LENGTH_BITS);
    const first = hash(4, rest);
    let prefix = 1;
    let result = 1n;
    for (let at = rest - 1, behind = 0; at >= 0; at--, behind++) {
      const bit = this.bit(set + 2, first + (behind < KNOWN_BITS ? prefix : -1 - behind), bitOf(value, at));
      if (behind < KNOWN_BITS) prefix = 2 * prefix + bit;
      result = (result << 1n) | BigInt(bit);
    }
    return result;
  }

  /** Bits that nothing is known about. */
  direct(bits: number, value: number): number {
    this.count();
    let result = 0;
    for (let at = bits - 1; at >= 0; at--) result = 2 * result + this.coder.code((value >> at) & 1, 2048);
    return result;
  }

  /** One bit, in the contexts that were entered last. */
  bit(set: number, node: number, bit: number, form = 0, trust = 0): number {
    const coded = this.coder.code(bit, this.model.predict(set, node, form, trust));
    this.model.update(coded);
    return coded;
  }
}

function bitOf(value: bigint, at: number): number {
  return Number((value >> BigInt(at)) & 1n);
}
