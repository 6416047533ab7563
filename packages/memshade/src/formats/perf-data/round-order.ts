/** Bytes of a file that hold records. The memory may be used again when none of them is queued any more. */
export interface Piece {
  readonly view: DataView;
  queued: number;
}

/** Records are kept in memory up to this size where a file does not say when their order is known. */
const MOST_QUEUED_BYTES = 2 ** 27;

/**
 * Brings records into the order of time. They are written processor by processor, in rounds: what is older than the
 * newest record of the round before cannot be followed by anything still older.
 *
 * Many thousands wait at a time, in columns: objects that live a while are what garbage collection costs most for.
 */
export class RoundOrder {
  readonly #emit: (record: DataView) => void;
  /** A heap of row numbers, the oldest on top: the record at i is not younger than those at 2i + 1 and 2i + 2. */
  #heap = new Int32Array(1024);
  #length = 0;
  // Rows: time, how many came before (records of one time stay in the order of the file), and where the record is.
  #times = new Float64Array(1024);
  #numbers = new Float64Array(1024);
  #offsets = new Int32Array(1024);
  #sizes = new Int32Array(1024);
  readonly #pieces: Piece[] = [];
  readonly #freeRows: number[] = [];
  #count = 0;
  #queuedBytes = 0;
  #newest = 0;
  #newestBefore = 0;

  constructor(emit: (record: DataView) => void) {
    this.#emit = emit;
  }

  /** Takes the record of `size` bytes at an offset of a piece. One without a time is passed on at once. */
  add(piece: Piece, offset: number, size: number, time: number | undefined): void {
    if (time === undefined) {
      this.#emit(viewAt(piece.view, offset, size));
      return;
    }
    piece.queued++;
    this.#queuedBytes += size;
    if (time > this.#newest) this.#newest = time;
    const row = this.#freeRows.pop() ?? this.#pieces.length;
    if (row === this.#times.length) this.#grow();
    this.#pieces[row] = piece;
    this.#times[row] = time;
    this.#numbers[row] = this.#count++;
    this.#offsets[row] = offset;
    this.#sizes[row] = size;
    this.#push(row);
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
    while (this.#length > 0 && this.#times[this.#heap[0]!]! <= upTo) this.#emitOldest();
  }

  #emitOldest(): void {
    const row = this.#heap[0]!;
    const last = this.#heap[--this.#length]!;
    if (this.#length > 0) this.#sink(last);
    const piece = this.#pieces[row]!;
    const size = this.#sizes[row]!;
    this.#freeRows.push(row);
    this.#queuedBytes -= size;
    this.#emit(viewAt(piece.view, this.#offsets[row]!, size));
    piece.queued--;
  }

  #isBefore(one: number, other: number): boolean {
    const times = this.#times;
    if (times[one] !== times[other]) return times[one]! < times[other]!;
    return this.#numbers[one]! < this.#numbers[other]!;
  }

  #push(added: number): void {
    const heap = this.#heap;
    let at = this.#length++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#isBefore(heap[parent]!, added)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = added;
  }

  /** Puts a record where the oldest one was, and brings it to its place. */
  #sink(moved: number): void {
    const heap = this.#heap;
    const length = this.#length;
    let at = 0;
    for (let child = 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && this.#isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (this.#isBefore(moved, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  }

  #grow(): void {
    const capacity = 2 * this.#times.length;
    this.#heap = enlarged(this.#heap, new Int32Array(capacity));
    this.#times = enlarged(this.#times, new Float64Array(capacity));
    this.#numbers = enlarged(this.#numbers, new Float64Array(capacity));
    this.#offsets = enlarged(this.#offsets, new Int32Array(capacity));
    this.#sizes = enlarged(this.#sizes, new Int32Array(capacity));
  }
}

function viewAt(view: DataView, offset: number, size: number): DataView {
  return new DataView(view.buffer, view.byteOffset + offset, size);
}

function enlarged<T extends Int32Array | Float64Array>(column: T, larger: T): T {
  larger.set(column);
  return larger;
}
