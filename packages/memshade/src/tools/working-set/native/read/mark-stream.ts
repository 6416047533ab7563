import { NO_PIECE, PIECE_BYTES, TAKEN_BYTES, Taken } from "../layout.ts";

/** When a snapshot was at its end. */
export interface SnapshotTaken {
  /** nanoseconds of the monotonic clock */
  now: number;
  /** nanoseconds of the process's CPU time; 0: it has ended */
  cpu: number;
  /** Pieces with marks that the reader has found no room for, in all snapshots so far. */
  refused: number;
  /** So far, where they are counted. */
  accesses: number;
  /** The program has waited for the end of an interval in vain: how many there are nobody knows. */
  isAlone: boolean;
}

export interface MarkListener {
  /** A piece of marks, at a distance from the beginning of the shared file. The bytes are only lent. */
  piece(at: number, marks: Uint8Array): void;
  taken(snapshot: SnapshotTaken): void;
}

const WORD_BYTES = 8;

/** Takes what the reader of marks has written apart, in whatever lengths it arrives. */
export class MarkStream {
  readonly #listener: MarkListener;
  /** The beginning of what has arrived in part. */
  readonly #part = Buffer.alloc(WORD_BYTES + Math.max(TAKEN_BYTES, PIECE_BYTES));
  #filled = 0;

  constructor(listener: MarkListener) {
    this.#listener = listener;
  }

  add(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#filled === 0) {
        const length = this.#take(bytes, at, bytes.length);
        at += length;
        if (length > 0) continue;
      }
      // No more than there is of what has begun: as long as its beginning has not told that, of that.
      const wanted = this.#filled < WORD_BYTES ? WORD_BYTES : lengthAt(this.#part, 0);
      const end = Math.min(bytes.length, at + wanted - this.#filled);
      this.#filled += bytes.copy(this.#part, this.#filled, at, end);
      at = end;
      if (this.#take(this.#part, 0, this.#filled) > 0) this.#filled = 0;
    }
  }

  /** Hands out what begins at an offset. @returns how long it was; 0: it is not whole */
  #take(all: Buffer, at: number, end: number): number {
    if (end - at < WORD_BYTES) return 0;
    const length = lengthAt(all, at);
    if (end - at < length) return 0;
    const piece = Number(all.readBigUInt64LE(at));
    const from = at + WORD_BYTES;
    if (piece === NO_PIECE) this.#listener.taken(takenAt(all, from));
    else this.#listener.piece(piece, all.subarray(from, at + length));
    return length;
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const isPiece = Number(bytes.readBigUInt64LE(at)) !== NO_PIECE;
  return WORD_BYTES + (isPiece ? PIECE_BYTES : TAKEN_BYTES);
}

function takenAt(bytes: Buffer, at: number): SnapshotTaken {
  const word = (field: number): number => Number(bytes.readBigUInt64LE(at + field));
  return {
    ...{ now: word(Taken.now), cpu: word(Taken.cpu), refused: word(Taken.refused) },
    accesses: Number(bytes.readBigInt64LE(at + Taken.accesses)),
    isAlone: word(Taken.isAlone) !== 0,
  };
}
