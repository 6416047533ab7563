// Sorts records by time. perf writes them per processor, in rounds: no later record is older than the newest record of
// the previous round. Pending records are in a heap of row numbers with the oldest on top: the record at i is not
// younger than those at 2i + 1 and 2i + 2. Records of equal time stay in file order.
//
//   rows   {u64 time, u64 number, u32 address, u32 piece, u32 next free row + 1, –}
import { allocate, heldBytes, hold, release } from "./memory";

const ROW_BYTES: u32 = 32;
/** Bound on pending records, for files without round marks. */
const MOST_HELD_BYTES: u32 = 1 << 27;
const NONE: u32 = u32.MAX_VALUE;

let rows: u32 = 0;
let heap: u32 = 0;
let capacity: u32 = 0;
let rowCount: u32 = 0;
let freeRow: u32 = 0;
let length: u32 = 0;
let number: u64 = 0;
let newest: u64 = 0;
let newestBefore: u64 = 0;
let limit: u64 = 0;
let isFlushing: bool = false;
/** Piece of the record that was passed on last, and may be in use. */
let lastPiece: u32 = NONE;

@inline
function rowAt(place: u32): u32 {
  return rows + load<u32>(heap + (place << 2)) * ROW_BYTES;
}

@inline
function isBefore(a: u32, b: u32): bool {
  const first = load<u64>(a);
  const second = load<u64>(b);
  return first === second ? load<u64>(a, 8) < load<u64>(b, 8) : first < second;
}

function grow(): void {
  const larger = capacity === 0 ? 1024 : 2 * capacity;
  const newRows = allocate(larger * ROW_BYTES);
  const newHeap = allocate(larger << 2);
  memory.copy(newRows, rows, rowCount * ROW_BYTES);
  memory.copy(newHeap, heap, length << 2);
  rows = newRows;
  heap = newHeap;
  capacity = larger;
}

export function add(time: u64, address: u32, piece: u32): void {
  hold(piece);
  if (time > newest) newest = time;
  let row = freeRow - 1;
  if (freeRow !== 0) {
    freeRow = load<u32>(rows + row * ROW_BYTES, 24);
  } else {
    if (rowCount === capacity) grow();
    row = rowCount++;
  }
  const at = rows + row * ROW_BYTES;
  store<u64>(at, time);
  store<u64>(at, number++, 8);
  store<u32>(at, address, 16);
  store<u32>(at, piece, 20);
  let place = length++;
  while (place > 0) {
    const parent = (place - 1) >>> 1;
    const above = load<u32>(heap + (parent << 2));
    if (isBefore(rows + above * ROW_BYTES, at)) break;
    store<u32>(heap + (place << 2), above);
    place = parent;
  }
  store<u32>(heap + (place << 2), row);
}

export function finishRound(): void {
  limit = newestBefore;
  newestBefore = newest;
  isFlushing = true;
}

export function finish(): void {
  limit = u64.MAX_VALUE;
  isFlushing = true;
}

export function isReady(): bool {
  if (lastPiece !== NONE) {
    release(lastPiece);
    lastPiece = NONE;
  }
  if (isFlushing) {
    if (length > 0 && load<u64>(rowAt(0)) <= limit) return true;
    isFlushing = false;
  }
  return heldBytes > MOST_HELD_BYTES && length > 0;
}

/** Returns the address of the oldest record. Its memory may be reused at the next call of `isReady`. */
export function takeOldest(): u32 {
  const oldest = load<u32>(heap);
  const at = rows + oldest * ROW_BYTES;
  const moved = load<u32>(heap + (--length << 2));
  const movedRow = rows + moved * ROW_BYTES;
  let place: u32 = 0;
  for (let child: u32 = 1; child < length; child = 2 * place + 1) {
    if (child + 1 < length && isBefore(rowAt(child + 1), rowAt(child))) child++;
    if (isBefore(movedRow, rowAt(child))) break;
    store<u32>(heap + (place << 2), load<u32>(heap + (child << 2)));
    place = child;
  }
  if (length > 0) store<u32>(heap + (place << 2), moved);
  lastPiece = load<u32>(at, 20);
  store<u32>(at, freeRow, 24);
  freeRow = oldest + 1;
  return load<u32>(at, 16);
}
