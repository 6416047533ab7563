import { MARK_BYTES, NO_PIECE, OWNERS_PER_LINE, PIECE_BYTES, TAKEN_BYTES, Taken } from "../layout.ts";

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
  /**
   * A piece of marks, at a distance from the beginning of the shared file. The bytes are only lent.
   * `owners`: of each marked line, `OWNERS_PER_LINE` words, where they are asked for.
   */
  piece(at: number, marks: Uint8Array, owners?: Uint32Array): void;
  taken(snapshot: SnapshotTaken): void;
}

const WORD_BYTES = 8;

/** Takes what the reader of marks has written apart, in whatever lengths it arrives. */
export class MarkStream {
  readonly #listener: MarkListener;
  readonly #hasOwners: boolean;
  #rest: Buffer = Buffer.alloc(0);

  constructor(listener: MarkListener, hasOwners = false) {
    this.#listener = listener;
    this.#hasOwners = hasOwners;
  }

  add(bytes: Buffer): void {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (all.length - at >= WORD_BYTES) {
      const piece = Number(all.readBigUInt64LE(at));
      const from = at + WORD_BYTES;
      let end = from + (piece === NO_PIECE ? TAKEN_BYTES : PIECE_BYTES);
      if (end > all.length) break;
      if (piece === NO_PIECE) this.#listener.taken(takenAt(all, from));
      else if (!this.#hasOwners) this.#listener.piece(piece, all.subarray(from, end));
      else {
        const marks = all.subarray(from, end);
        const owners = new Uint32Array(OWNERS_PER_LINE * markedLines(marks));
        end += owners.byteLength;
        if (end > all.length) break;
        new Uint8Array(owners.buffer).set(all.subarray(end - owners.byteLength, end));
        this.#listener.piece(piece, marks, owners);
      }
      at = end;
    }
    this.#rest = all.subarray(at);
  }
}

function markedLines(marks: Buffer): number {
  let lines = 0;
  for (let at = 0; at < marks.length; at += MARK_BYTES) if (marks.readUInt16LE(at) !== 0) lines++;
  return lines;
}

function takenAt(bytes: Buffer, at: number): SnapshotTaken {
  const word = (field: number): number => Number(bytes.readBigUInt64LE(at + field));
  return {
    ...{ now: word(Taken.now), cpu: word(Taken.cpu), refused: word(Taken.refused) },
    accesses: Number(bytes.readBigInt64LE(at + Taken.accesses)),
    isAlone: word(Taken.isAlone) !== 0,
  };
}
