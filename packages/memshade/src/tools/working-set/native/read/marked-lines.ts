import { MEASURES, type Measure } from "../../../../model/working-set/working-set.ts";
import {
  BUCKETS,
  bucketOf,
  FRESH_BUCKET,
  type SnapshotRecord,
} from "../../../../model/working-set/working-set-series.ts";
import {
  CONTROL_BYTES,
  LINE_SHIFT,
  MARK_BYTES,
  OWNERS_PER_LINE,
  PIECE_BYTES,
  READ_MARK,
  WRITTEN_MARK,
} from "../layout.ts";
import type { LineOwners } from "./line-owners.ts";
import type { MarkListener } from "./mark-stream.ts";

export type Region = "stack" | "static" | "heap";

const LINES = PIECE_BYTES / MARK_BYTES;
const LINE_BYTES = 2 ** LINE_SHIFT;
const LINES_PER_PAGE = 4096 / LINE_BYTES;
const PAGES_PER_BIG_PAGE = 16;
const PAGES = LINES / LINES_PER_PAGE;
const BIG_PAGES = PAGES / PAGES_PER_BIG_PAGE;
const NEVER = 0;

/** When the lines and pages of a piece were touched last: numbers of intervals plus one, 0 for never. */
interface Piece {
  read: Uint32Array;
  written: Uint32Array;
  pages: Uint32Array;
  bigPages: Uint32Array;
  regions: (Region | undefined)[];
}

/**
 * Counts the lines of intervals at all time scales, from the marks of each. Addresses may be anywhere: only pieces that were touched
 * take memory.
 */
export class MarkedLines implements Pick<MarkListener, "piece"> {
  readonly #pieces = new Map<number, Piece>();
  readonly #regionOf: (address: number) => Region;
  /** Undefined where nobody asks whose lines are. */
  readonly owners: LineOwners | undefined;
  #counts = emptyCounts();
  #interval = 0;
  #given = 0;

  /** @param regionOf what lies at an address; asked once per page of 4 KiB */
  constructor(regionOf: (address: number) => Region, owners?: LineOwners) {
    this.#regionOf = regionOf;
    this.owners = owners;
  }

  /** Bytes of program memory in pages that were touched, and those that serve for counting. */
  get touchedBytes(): number {
    let pages = 0;
    for (const piece of this.#pieces.values()) for (const page of piece.pages) if (page !== NEVER) pages++;
    return pages * 4096;
  }

  get ownBytes(): number {
    const own = this.#pieces.size * (PIECE_BYTES + 4 * (2 * LINES + PAGES + BIG_PAGES));
    return own + (this.owners?.ownBytes ?? 0);
  }

  /** The marks of the open interval, or more of them; where `owners` are followed, the words of each marked line. */
  piece(at: number, marks: Uint8Array, words?: Uint32Array): void {
    const first = (at - CONTROL_BYTES) / MARK_BYTES;
    const piece = this.#pieces.get(first) ?? emptyPiece();
    this.#pieces.set(first, piece);
    const now = this.#interval + 1;
    this.#given++;
    const last = words === undefined ? undefined : this.owners?.lastOf(first);
    let from = 0;
    const pairs = new Uint32Array(new Uint8Array(marks).buffer);
    for (let word = 0; word < pairs.length; word++) {
      if (pairs[word] === 0) continue;
      for (let half = 0; half < 2; half++) {
        const line = 2 * word + half;
        const how = marks[MARK_BYTES * line + READ_MARK] | (marks[MARK_BYTES * line + WRITTEN_MARK] << 1);
        if (how === 0) continue;
        const bucket = this.#touch(piece, first, line, how, now);
        if (last === undefined) continue;
        const address = (first + line) * LINE_BYTES;
        this.owners!.touch(last, line * OWNERS_PER_LINE, words!, from, { bucket, address });
        from += OWNERS_PER_LINE;
      }
    }
  }

  /** @returns of how many time scales it is new at */
  #touch(piece: Piece, first: number, line: number, how: number, now: number): number {
    const page = Math.floor(line / LINES_PER_PAGE);
    touchPage(piece.pages, page, now, this.#counts.pages4K);
    touchPage(piece.bigPages, Math.floor(page / PAGES_PER_BIG_PAGE), now, this.#counts.pages64K);
    piece.regions[page] ??= this.#regionOf((first + line) * LINE_BYTES);
    const read = bucket(now, piece.read[line]);
    const written = bucket(now, piece.written[line]);
    const nextRead = how & 1 ? 0 : read;
    const nextWritten = how & 2 ? 0 : written;
    const counts = this.#counts;
    if (how & 1) counts.read[read]++;
    if (how & 2) counts.written[written]++;
    if (Math.max(nextRead, nextWritten) !== FRESH_BUCKET) {
      // Both: new where the older touch arrives now, no longer where it had arrived before.
      counts.both[Math.max(read, written)]++;
      counts.both[Math.max(nextRead, nextWritten)]--;
    }
    const since = Math.min(read, written);
    if (since !== 0) {
      counts.lines[since]++;
      counts[piece.regions[page] as Region][since]++;
    }
    if (how & 1) piece.read[line] = now;
    if (how & 2) piece.written[line] = now;
    return since;
  }

  /** Lines of the open interval. */
  get lines(): number {
    return this.#counts.lines.reduce((sum, count) => sum + count, 0);
  }

  /** Pieces of the open interval. */
  get pieces(): number {
    return this.#given;
  }

  /** Ends the open interval. @returns what it has touched */
  end(): SnapshotRecord["counts"] {
    const counts = this.#counts;
    this.#counts = emptyCounts();
    this.#interval++;
    this.#given = 0;
    return counts;
  }

  /** Intervals become twice as long: so do those that are remembered. To be called between them. */
  mergeNeighbours(): void {
    this.#interval = Math.floor(this.#interval / 2);
    for (const { read, written, pages, bigPages } of this.#pieces.values())
      for (const stamps of [read, written, pages, bigPages])
        for (let i = 0; i < stamps.length; i++) stamps[i] = (stamps[i] + 1) >>> 1;
  }

  /** Number of the open interval. */
  get interval(): number {
    return this.#interval;
  }
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

/** Number of the time scales at which an interval is another one than that of a stamp. */
function bucket(now: number, stamp: number): number {
  return Math.min(bucketOf(now - 1, stamp === NEVER ? undefined : stamp - 1), FRESH_BUCKET);
}

function touchPage(stamps: Uint32Array, page: number, now: number, counts: Int32Array): void {
  const since = bucket(now, stamps[page]);
  if (since === 0) return;
  counts[since]++;
  stamps[page] = now;
}
