import { MEASURES, type Measure } from "../../../../../profile/model/working-set/working-set.ts";
import {
  BUCKETS,
  bucketOf,
  FRESH_BUCKET,
  type SnapshotRecord,
} from "../../../../../profile/model/working-set/working-set-series.ts";
import { Kind } from "../../../../tools/working-set/attribution/layout.ts";
import type { AttributionEntry } from "../../../../tools/working-set/attribution/read/open-attribution.ts";
import {
  CONTROL_BYTES,
  LINE_SHIFT,
  MARK_BYTES,
  OWNERS_PER_LINE,
  PIECE_BYTES,
  READ_MARK,
  WRITTEN_MARK,
} from "../layout.ts";
import type { MarkListener } from "./mark-stream.ts";

const LINE_BYTES = 2 ** LINE_SHIFT;
const WORDS = (PIECE_BYTES / MARK_BYTES) * OWNERS_PER_LINE;
/** Smaller sums are rounding errors. */
const LEAST_WEIGHT = 1e-9;

/**
 * Sums of the owners of lines per interval, at all time scales. A line is divided among the blocks in it by their
 * words; without any, it belongs to its region. A longer interval uses the owners at the last touch. Keys of contexts
 * are positive, keys of regions negative.
 */
export class LineOwners {
  readonly #placeOf: (address: number) => number;
  /**
   * Words of each line at its last touch, by first line of a piece. Lines without owners have the key of their region.
   */
  readonly #lasts = new Map<number, Int32Array>();
  #sums = new Map<number, number>();
  readonly #now = new Int32Array(OWNERS_PER_LINE);
  #last: Int32Array = new Int32Array(0);
  #first = 0;
  #words: Uint32Array = new Uint32Array(0);
  #at = 0;

  /** @param placeOf returns the key of the region at an address */
  constructor(placeOf: (address: number) => number) {
    this.#placeOf = placeOf;
  }

  get ownBytes(): number {
    return this.#lasts.size * WORDS * Int32Array.BYTES_PER_ELEMENT;
  }

  /**
   * Begins a piece.
   *
   * @param first number of its first line
   * @param words owner words of its marked lines
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
   * Records a touch of the next marked line.
   *
   * @param line index in the piece
   * @param bucket number of time scales at which the line is new
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
      // The line belonged to its last owners at the other scales until now.
      this.#divide(now, 0, FRESH_BUCKET, 1);
      this.#divide(last, at, FRESH_BUCKET, -1);
      if (bucket > 0) this.#divide(last, at, bucket, 1);
    }
    if (!isSame) last.set(now, at);
  }

  #divide(words: Int32Array, at: number, bucket: number, sign: number): void {
    let owned = 0;
    for (let i = 0; i < OWNERS_PER_LINE; i++) if (words[at + i] !== 0) owned++;
    // Consecutive words usually belong to the same block.
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

  /** Ends the open interval. @returns the sums of its lines */
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

export type Region = "stack" | "static" | "heap";

const LINES = PIECE_BYTES / MARK_BYTES;
const LINES_PER_PAGE = 4096 / LINE_BYTES;
const PAGES_PER_BIG_PAGE = 16;
const PAGES = LINES / LINES_PER_PAGE;
const BIG_PAGES = PAGES / PAGES_PER_BIG_PAGE;
const WORD_BYTES = 4;
const PAGE_WORDS = (LINES_PER_PAGE * MARK_BYTES) / WORD_BYTES;
const NEVER = 0;
const [READS, WRITES] = [1, 2];

/** Interval numbers of the last touches of a piece's lines and pages, plus one; 0: never. */
interface Piece {
  read: Uint32Array;
  written: Uint32Array;
  pages: Uint32Array;
  bigPages: Uint32Array;
  regions: (Region | undefined)[];
}

/** Counts the lines of intervals at all time scales. Addresses may be anywhere; only touched pieces take memory. */
export class MarkedLines implements Pick<MarkListener, "piece"> {
  readonly #pieces = new Map<number, Piece>();
  readonly #regionOf: (address: number) => Region;
  /** Undefined if owners are not recorded. */
  readonly owners: LineOwners | undefined;
  /** Marks of a piece, and the same bytes as words of two lines. Most words are 0. */
  readonly #marks = new Uint8Array(PIECE_BYTES);
  readonly #words = new Uint32Array(this.#marks.buffer);
  #counts = emptyCounts();
  #interval = 0;
  #pieceCount = 0;

  /** @param regionOf classifies an address; called once per 4 KiB page */
  constructor(regionOf: (address: number) => Region, owners?: LineOwners) {
    this.#regionOf = regionOf;
    this.owners = owners;
  }

  /** Bytes of program memory in touched pages. */
  get touchedBytes(): number {
    let pages = 0;
    for (const piece of this.#pieces.values()) for (const page of piece.pages) if (page !== NEVER) pages++;
    return pages * 4096;
  }

  get ownBytes(): number {
    const own = this.#pieces.size * (PIECE_BYTES + 4 * (2 * LINES + PAGES + BIG_PAGES));
    return own + (this.owners?.ownBytes ?? 0);
  }

  /** Adds marks of the open interval. `owners`: words of each marked line, if recorded. */
  piece(at: number, marks: Uint8Array, owners?: Uint32Array): void {
    const first = (at - CONTROL_BYTES) / MARK_BYTES;
    const piece = this.#pieces.get(first) ?? emptyPiece();
    this.#pieces.set(first, piece);
    const now = this.#interval + 1;
    this.#pieceCount++;
    if (owners !== undefined) this.owners?.begin(first, owners);
    this.#marks.set(marks);
    const words = this.#words;
    for (let page = 0; page < PAGES; page++) {
      const from = page * PAGE_WORDS;
      let word = from;
      while (word < from + PAGE_WORDS && words[word] === 0) word++;
      if (word === from + PAGE_WORDS) continue;
      const region = this.#touchPages(piece, first, page, now);
      for (; word < from + PAGE_WORDS; word++) {
        const both = words[word];
        if (both === 0) continue;
        const lower = accessBits(both);
        const upper = accessBits(both >>> (8 * MARK_BYTES));
        if (lower !== 0) this.#touch(piece, 2 * word, lower, now, region);
        if (upper !== 0) this.#touch(piece, 2 * word + 1, upper, now, region);
      }
    }
  }

  /** @returns the counts of the page's region */
  #touchPages(piece: Piece, first: number, page: number, now: number): Int32Array {
    touchPage(piece.pages, page, now, this.#counts.pages4K);
    touchPage(piece.bigPages, Math.floor(page / PAGES_PER_BIG_PAGE), now, this.#counts.pages64K);
    piece.regions[page] ??= this.#regionOf((first + page * LINES_PER_PAGE) * LINE_BYTES);
    return this.#counts[piece.regions[page]];
  }

  /** @param line index in the piece */
  #touch(
    { read: reads, written: writes }: Piece,
    line: number,
    access: number,
    now: number,
    region: Int32Array,
  ): void {
    const read = bucket(now, reads[line]);
    const written = bucket(now, writes[line]);
    const nextRead = access & READS ? 0 : read;
    const nextWritten = access & WRITES ? 0 : written;
    const counts = this.#counts;
    if (access & READS) counts.read[read]++;
    if (access & WRITES) counts.written[written]++;
    if (Math.max(nextRead, nextWritten) !== FRESH_BUCKET) {
      // `both` counts lines that were read and written. The line is added where the older touch arrives now, and
      // removed where it had arrived before.
      counts.both[Math.max(read, written)]++;
      counts.both[Math.max(nextRead, nextWritten)]--;
    }
    const since = Math.min(read, written);
    if (since !== 0) {
      counts.lines[since]++;
      region[since]++;
    }
    if (access & READS) reads[line] = now;
    if (access & WRITES) writes[line] = now;
    this.owners?.touch(line, since);
  }

  get lines(): number {
    return this.#counts.lines.reduce((sum, count) => sum + count, 0);
  }

  get pieces(): number {
    return this.#pieceCount;
  }

  /** Returns a byte for each of the lines `[first, end)`: 1 if the line was read so far. */
  read(first: number, end: number): Uint8Array {
    const read = new Uint8Array(end - first);
    for (let line = first; line < end; line++) {
      const inPiece = line % LINES;
      const stamp = this.#pieces.get(line - inPiece)?.read[inPiece];
      read[line - first] = stamp === undefined || stamp === NEVER ? 0 : 1;
    }
    return read;
  }

  end(): SnapshotRecord["counts"] {
    const counts = this.#counts;
    this.#counts = emptyCounts();
    this.#interval++;
    this.#pieceCount = 0;
    return counts;
  }

  /** Halves the recorded interval numbers when intervals double. Call it between intervals. */
  mergeNeighbours(): void {
    this.#interval = Math.floor(this.#interval / 2);
    for (const { read, written, pages, bigPages } of this.#pieces.values())
      for (const stamps of [read, written, pages, bigPages])
        for (let i = 0; i < stamps.length; i++) stamps[i] = (stamps[i] + 1) >>> 1;
  }

  get interval(): number {
    return this.#interval;
  }
}

function accessBits(marks: number): number {
  return ((marks >>> (8 * READ_MARK)) & READS) | (((marks >>> (8 * WRITTEN_MARK)) << 1) & WRITES);
}

function emptyCounts(): Record<Measure, Int32Array> {
  return Object.fromEntries(MEASURES.map((measure) => [measure, new Int32Array(BUCKETS)])) as never;
}

function emptyPiece(): Piece {
  return {
    read: new Uint32Array(LINES),
    written: new Uint32Array(LINES),
    pages: new Uint32Array(PAGES),
    bigPages: new Uint32Array(BIG_PAGES),
    regions: new Array(PAGES),
  };
}

/** Returns the number of time scales at which the current interval differs from that of a stamp. */
function bucket(now: number, stamp: number): number {
  return Math.min(bucketOf(now - 1, stamp === NEVER ? undefined : stamp - 1), FRESH_BUCKET);
}

function touchPage(stamps: Uint32Array, page: number, now: number, counts: Int32Array): void {
  const since = bucket(now, stamps[page]);
  if (since === 0) return;
  counts[since]++;
  stamps[page] = now;
}
