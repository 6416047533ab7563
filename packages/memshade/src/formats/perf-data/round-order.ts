/** What records are views of. It may be used again when none of them is queued any more. */
export interface Piece {
  queued: number;
}

interface QueuedRecord {
  readonly time: number;
  /** How many came before it: records of one time stay in the order of the file. */
  readonly number: number;
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
  /** A heap, the oldest on top: the record at i is not younger than those at 2i + 1 and 2i + 2. */
  readonly #heap: QueuedRecord[] = [];
  #count = 0;
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
    piece.queued++;
    this.#queuedBytes += record.byteLength;
    if (time > this.#newest) this.#newest = time;
    this.#push({ time, number: this.#count++, record, piece });
    while (this.#queuedBytes > MOST_QUEUED_BYTES) this.#emitOldest();
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
    while (this.#heap.length > 0 && this.#heap[0]!.time <= upTo) this.#emitOldest();
  }

  #emitOldest(): void {
    const { record, piece } = this.#heap[0]!;
    const last = this.#heap.pop()!;
    if (this.#heap.length > 0) this.#sink(last);
    this.#queuedBytes -= record.byteLength;
    piece.queued--;
    this.#emit(record);
  }

  #push(added: QueuedRecord): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(added);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, added)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = added;
  }

  /** Puts a record where the oldest one was, and brings it to its place. */
  #sink(moved: QueuedRecord): void {
    const heap = this.#heap;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(moved, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  }
}

function isBefore(one: QueuedRecord, other: QueuedRecord): boolean {
  return one.time < other.time || (one.time === other.time && one.number < other.number);
}
