// Allocates room at the end of the memory, which is never given back.
//
//   SAMPLE   the last decoded sample: sample.ts
//   HEAP     memory of `allocate`

export const SAMPLE: u32 = 1024;
const HEAP: u32 = 4096;

let top: u32 = HEAP;

export function allocate(bytes: u32): u32 {
  const at = top;
  if (bytes > 0x7fff_0000 - top) unreachable();
  top = (top + bytes + 15) & ~15;
  const pages = (top + 0xffff) >>> 16;
  if (pages > <u32>memory.size()) {
    if (memory.grow(pages - memory.size()) < 0) unreachable();
  }
  return at;
}

// Pieces of the file in memory. A piece is reused once none of its records is pending.
//
//   pieces   {u32 address, u32 capacity, u32 holds}

const PIECE_BYTES: u32 = 12;
const SMALLEST: u32 = 1 << 12;

let pieces: u32 = 0;
let count: u32 = 0;
let capacity: u32 = 0;
/** Bytes of the pieces that cannot be reused yet. */
export let heldBytes: u32 = 0;

export function takePiece(bytes: u32): u32 {
  for (let piece: u32 = 0; piece < count; piece++) {
    const at = pieces + piece * PIECE_BYTES;
    // Small content must not hold a large piece.
    if (load<u32>(at, 8) === 0 && load<u32>(at, 4) >= bytes && load<u32>(at, 4) >>> 3 <= max(bytes, SMALLEST))
      return piece;
  }
  if (count === capacity) {
    capacity = capacity === 0 ? 64 : 2 * capacity;
    const larger = allocate(capacity * PIECE_BYTES);
    memory.copy(larger, pieces, count * PIECE_BYTES);
    pieces = larger;
  }
  let room = SMALLEST;
  while (room < bytes) room <<= 1;
  const at = pieces + count * PIECE_BYTES;
  store<u32>(at, allocate(room));
  store<u32>(at, room, 4);
  store<u32>(at, 0, 8);
  return count++;
}

export function pieceAddress(piece: u32): u32 {
  return load<u32>(pieces + piece * PIECE_BYTES);
}

export function hold(piece: u32): void {
  const at = pieces + piece * PIECE_BYTES;
  const holds = load<u32>(at, 8);
  if (holds === 0) heldBytes += load<u32>(at, 4);
  store<u32>(at, holds + 1, 8);
}

export function release(piece: u32): void {
  const at = pieces + piece * PIECE_BYTES;
  const holds = load<u32>(at, 8) - 1;
  if (holds === 0) heldBytes -= load<u32>(at, 4);
  store<u32>(at, holds, 8);
}
