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
  #rest: Buffer = Buffer.alloc(0);

  constructor(listener: MarkListener) {
    this.#listener = listener;
  }

  add(bytes: Buffer): void {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (all.length - at >= WORD_BYTES) {
      const piece = Number(all.readBigUInt64LE(at));
      const from = at + WORD_BYTES;
      const end = from + (piece === NO_PIECE ? TAKEN_BYTES : PIECE_BYTES);
      if (end > all.length) break;
      if (piece === NO_PIECE) this.#listener.taken(takenAt(all, from));
      else this.#listener.piece(piece, all.subarray(from, end));
      at = end;
    }
    this.#rest = all.subarray(at);
  }
}

function takenAt(bytes: Buffer, at: number): SnapshotTaken {
  const word = (field: number): number => Number(bytes.readBigUInt64LE(at + field));
  return {
    ...{ now: word(Taken.now), cpu: word(Taken.cpu), refused: word(Taken.refused) },
    accesses: Number(bytes.readBigInt64LE(at + Taken.accesses)),
    isAlone: word(Taken.isAlone) !== 0,
  };
}
