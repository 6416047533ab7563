import { BUCKETS, FRESH_BUCKET } from "../../../../../profile/model/working-set/working-set-series.ts";
import { Kind } from "../../../../tools/working-set/attribution/layout.ts";
import type { AttributionEntry } from "../../../../tools/working-set/attribution/read/open-attribution.ts";
import { LINE_SHIFT, MARK_BYTES, OWNERS_PER_LINE, PIECE_BYTES } from "../layout.ts";

const LINE_BYTES = 2 ** LINE_SHIFT;
const WORDS = (PIECE_BYTES / MARK_BYTES) * OWNERS_PER_LINE;
/** Sums of shares below this are rounding. */
const LEAST_WEIGHT = 1e-9;

/**
 * Whose the lines of intervals are, at all time scales. A line is divided among the blocks in it by their words, and is its place's where there
 * are none: so in a longer interval, by what was there when it was touched last. Keys are those of the words, and below 0 those of places.
 */
export class LineOwners {
  readonly #placeOf: (address: number) => number;
  /** By the first line of a piece: the words of its lines when they were touched last, in their place the key of the address. */
  readonly #lasts = new Map<number, Int32Array>();
  /** By key and bucket. */
  #sums = new Map<number, number>();
  readonly #now = new Int32Array(OWNERS_PER_LINE);
  /** Of the piece at hand. */
  #last: Int32Array = new Int32Array(0);
  #first = 0;
  #words: Uint32Array = new Uint32Array(0);
  #at = 0;

  /** @param placeOf the key of what lies at an address where no block is */
  constructor(placeOf: (address: number) => number) {
    this.#placeOf = placeOf;
  }

  get ownBytes(): number {
    return this.#lasts.size * WORDS * Int32Array.BYTES_PER_ELEMENT;
  }

  /**
   * A piece follows.
   *
   * @param first number of its first line
   * @param words of its marked lines
   */
  begin(first: number, words: Uint32Array): void {
    let last = this.#lasts.get(first);
    if (last === undefined) {
      last = new Int32Array(WORDS);
      this.#lasts.set(first, last);
    }
    this.#last = last;
    this.#first = first;
    this.#words = words;
    this.#at = 0;
  }

  /**
   * The next marked line of the piece was touched.
   *
   * @param line of the piece
   * @param bucket of how many time scales it is new at
   */
  touch(line: number, bucket: number): void {
    const now = this.#now;
    const last = this.#last;
    const at = line * OWNERS_PER_LINE;
    let isOwned = false;
    let isSame = true;
    for (let i = 0; i < OWNERS_PER_LINE; i++) {
      now[i] = this.#words[this.#at++];
      if (now[i] !== 0) isOwned = true;
    }
    if (!isOwned) now.fill(this.#placeOf((this.#first + line) * LINE_BYTES));
    for (let i = 0; i < OWNERS_PER_LINE; i++) if (now[i] !== last[at + i]) isSame = false;
    if (isSame || bucket === FRESH_BUCKET) this.#divide(now, 0, bucket, 1);
    else {
      // At the scales at which it is not new it was others' until now.
      this.#divide(now, 0, FRESH_BUCKET, 1);
      this.#divide(last, at, FRESH_BUCKET, -1);
      if (bucket > 0) this.#divide(last, at, bucket, 1);
    }
    if (!isSame) last.set(now, at);
  }

  #divide(words: Int32Array, at: number, bucket: number, sign: number): void {
    let owned = 0;
    for (let i = 0; i < OWNERS_PER_LINE; i++) if (words[at + i] !== 0) owned++;
    // Words in a row are mostly one block's.
    for (let i = 0, end = 1; i < OWNERS_PER_LINE; i = end++) {
      const key = words[at + i];
      while (end < OWNERS_PER_LINE && words[at + end] === key) end++;
      if (key !== 0) this.#add(key, bucket, (sign * (end - i)) / owned);
    }
  }

  #add(key: number, bucket: number, weight: number): void {
    const at = key * BUCKETS + bucket;
    this.#sums.set(at, (this.#sums.get(at) ?? 0) + weight);
  }

  /** Ends the open interval. @returns what its lines add up to */
  end(): AttributionEntry[] {
    const entries: AttributionEntry[] = [];
    for (const [at, weight] of this.#sums) {
      const key = Math.floor(at / BUCKETS);
      if (Math.abs(weight) >= LEAST_WEIGHT)
        entries.push({ key, kind: Kind.share, bucket: at - key * BUCKETS, weight });
    }
    this.#sums = new Map();
    return entries;
  }
}
