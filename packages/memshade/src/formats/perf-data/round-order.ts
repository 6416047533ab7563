/** What records are views of. It may be used again when none of them is queued any more. */
export interface Piece {
  queued: number;
}

interface QueuedRecord {
  readonly time: number;
  readonly record: DataView;
  readonly piece: Piece;
}

/** Records are kept in memory up to this size where a file does not say when their order is known. */
const MOST_QUEUED_BYTES = 2 ** 27;

/**
 * Brings records into the order of time. They are written processor by processor, in rounds: what is older than the
 * newest record of the round before cannot be followed by anything still older.
 */
export class RoundOrder {
  readonly #emit: (record: DataView) => void;
  #queue: QueuedRecord[] = [];
  #queuedBytes = 0;
  #newest = 0;
  #newestBefore = 0;

  constructor(emit: (record: DataView) => void) {
    this.#emit = emit;
  }

  /** A record without a time is passed on at once. */
  add(record: DataView, time: number | undefined, piece: Piece): void {
    if (time === undefined) {
      this.#emit(record);
      return;
    }
    this.#queue.push({ time, record, piece });
    piece.queued++;
    this.#queuedBytes += record.byteLength;
    if (time > this.#newest) this.#newest = time;
    if (this.#queuedBytes > MOST_QUEUED_BYTES) {
      const times = this.#queue.map((queued) => queued.time).sort((a, b) => a - b);
      this.#flush(times[times.length >> 1]!);
    }
  }

  finishRound(): void {
    this.#flush(this.#newestBefore);
    this.#newestBefore = this.#newest;
  }

  finish(): void {
    this.#flush(Number.POSITIVE_INFINITY);
  }

  /** Passes on everything up to a time. */
  #flush(upTo: number): void {
    const ready = this.#queue.filter(({ time }) => time <= upTo).sort((a, b) => a.time - b.time);
    if (ready.length === 0) return;
    this.#queue = this.#queue.filter(({ time }) => time > upTo);
    for (const { record, piece } of ready) {
      this.#queuedBytes -= record.byteLength;
      piece.queued--;
      this.#emit(record);
    }
  }
}
