import { MARK_BYTES, NO_PIECE, OWNERS_PER_LINE, PIECE_BYTES, TAKEN_BYTES, Taken } from "../layout.ts";

export interface SnapshotTaken {
  /** Monotonic clock, ns. */
  now: number;
  /** CPU time of the process, ns; 0 if it has ended. */
  cpu: number;
  /** Pieces with marks that were skipped for lack of room, in all snapshots so far. */
  refused: number;
  accesses: number;
  /** True if the program waited in vain for the end of an interval; the number of accesses is then unknown. */
  isAlone: boolean;
}

export interface MarkListener {
  /**
   * Receives a piece of marks and its offset in the shared file. The buffers are reused after the call. `owners`:
   * `OWNERS_PER_LINE` words per marked line, if recorded.
   */
  piece(at: number, marks: Uint8Array, owners?: Uint32Array): void;
  endSnapshot(snapshot: SnapshotTaken): void;
}

const WORD_BYTES = 8;
const OWNER_BYTES = 4 * OWNERS_PER_LINE;

/** Parses the output of the mark reader, in chunks of any length. */
export class MarkStream {
  readonly #listener: MarkListener;
  /** Buffer for a message that has arrived in part. */
  readonly #part = Buffer.alloc(WORD_BYTES + PIECE_BYTES + OWNER_BYTES * (PIECE_BYTES / MARK_BYTES));
  readonly #hasOwners: boolean;
  #filled = 0;

  constructor(listener: MarkListener, hasOwners = false) {
    this.#listener = listener;
    this.#hasOwners = hasOwners;
  }

  add(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#filled === 0) {
        const length = this.#take(bytes, at, bytes.length);
        at += length;
        if (length > 0) continue;
      }
      // Copy no more than the rest of the begun message. Its length is known only once its first word has arrived.
      const wanted = this.#filled < WORD_BYTES ? WORD_BYTES : this.#lengthAt(this.#part, 0, this.#filled);
      const end = Math.min(bytes.length, at + wanted - this.#filled);
      this.#filled += bytes.copy(this.#part, this.#filled, at, end);
      at = end;
      if (this.#take(this.#part, 0, this.#filled) > 0) this.#filled = 0;
    }
  }

  /** Handles the message at an offset. @returns its length; 0 if it is incomplete */
  #take(buffer: Buffer, at: number, end: number): number {
    if (end - at < WORD_BYTES) return 0;
    const length = this.#lengthAt(buffer, at, end);
    if (end - at < length) return 0;
    const piece = Number(buffer.readBigUInt64LE(at));
    const from = at + WORD_BYTES;
    if (piece === NO_PIECE) this.#listener.endSnapshot(takenAt(buffer, from));
    else {
      const owners = this.#hasOwners ? wordsOf(buffer.subarray(from + PIECE_BYTES, at + length)) : undefined;
      this.#listener.piece(piece, buffer.subarray(from, from + PIECE_BYTES), owners);
    }
    return length;
  }

  /** Returns the length of the message at an offset. The marks of a piece determine how many words follow. */
  #lengthAt(bytes: Buffer, at: number, end: number): number {
    const from = at + WORD_BYTES;
    if (Number(bytes.readBigUInt64LE(at)) === NO_PIECE) return WORD_BYTES + TAKEN_BYTES;
    const length = WORD_BYTES + PIECE_BYTES;
    if (!this.#hasOwners || end - at < length) return length;
    return length + OWNER_BYTES * markedLines(bytes.subarray(from, from + PIECE_BYTES));
  }
}

function markedLines(marks: Buffer): number {
  let lines = 0;
  for (let at = 0; at < marks.length; at += MARK_BYTES) if (marks.readUInt16LE(at) !== 0) lines++;
  return lines;
}

function wordsOf(bytes: Buffer): Uint32Array {
  const words = new Uint32Array(bytes.length / Uint32Array.BYTES_PER_ELEMENT);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

function takenAt(bytes: Buffer, at: number): SnapshotTaken {
  const word = (field: number): number => Number(bytes.readBigUInt64LE(at + field));
  return {
    now: word(Taken.now),
    cpu: word(Taken.cpu),
    refused: word(Taken.refused),
    accesses: Number(bytes.readBigInt64LE(at + Taken.accesses)),
    isAlone: word(Taken.isAlone) !== 0,
  };
}
