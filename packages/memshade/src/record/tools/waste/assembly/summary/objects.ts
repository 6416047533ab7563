// Reads and stores of the blocks of each call path, per granule of 4 bytes.
//  MARKS       u8 per 4 bytes of program memory: read since its block was handed out
//  BLOCK_PATH  u16 per 8 bytes: the path of the block that starts there, 0 for none
//  PATH_BLOCKS per path sums over its blocks, and the address of the fates of their granules
// The first load of a granule finds bytes that are unread or invalid, and sets the mark then. Later loads of read bytes
// cost nothing more.
import { BLOCK_PATH, CONTROL, FATES, FATES_END, MARKS, PATH_BLOCKS } from "../imports";
import {
  CARRIED_ON,
  Control,
  GRANULE_SHIFT,
  GranuleFate,
  MOST_GRANULES,
  PATH_BLOCKS_BYTES,
  PathBlocks,
} from "../layout.generated";
import { pathAtHand } from "../paths";
import { bump, gone, isInvalid } from "./bytes";

const GROUP: u32 = 16;

@inline
function pathAt(address: u32): usize {
  return BLOCK_PATH + ((address >>> 3) << 1);
}
@inline
function blocksOf(path: u32): usize {
  return PATH_BLOCKS + path * PATH_BLOCKS_BYTES;
}

/** Begins a block of the current call path. */
export function blockBegins(address: u32, size: u32): void {
  if (MARKS === 0) return;
  // Blocks that do not begin on a multiple of 8 are not recorded.
  store<u16>(pathAt(address), (address & 7) === 0 ? <u16>pathAtHand() : 0);
  clearMarks(address, size);
}

@inline
function clearMarks(address: u32, size: u32): void {
  memory.fill(MARKS + (address >>> GRANULE_SHIFT), 0, (size + 3) >>> GRANULE_SHIFT);
}

export function blockGrows(address: u32, before: u32, size: u32): void {
  if (MARKS !== 0 && size > before) clearMarks((address + before + 3) & ~3, size - before);
}

/** Moves the marks of a block that a reallocation moved, and removes the old block. */
export function blockMoves(old: u32, address: u32, keptBytes: u32): void {
  if (MARKS === 0) return;
  memory.copy(
    MARKS + (address >>> GRANULE_SHIFT),
    MARKS + (old >>> GRANULE_SHIFT),
    (keptBytes + 3) >>> GRANULE_SHIFT,
  );
  store<u16>(pathAt(old), 0);
}

/**
 * Handles copies from the start of a block to the start of another one of the same path, as growing vectors make them.
 * Such a copy reads nothing by itself, so its marks are copied too. Returns false for any other copy.
 */
export function carriesMarks(destination: u32, source: u32, size: u32): bool {
  if (MARKS === 0) return true;
  if (((destination | source) & 7) !== 0) return false;
  const path: u32 = load<u16>(pathAt(source)) & ~CARRIED_ON;
  if (path === 0 || path !== (load<u16>(pathAt(destination)) & ~CARRIED_ON)) return false;
  store<u16>(pathAt(source), <u16>(path | CARRIED_ON));
  memory.copy(
    MARKS + (destination >>> GRANULE_SHIFT),
    MARKS + (source >>> GRANULE_SHIFT),
    (size + 3) >>> GRANULE_SHIFT,
  );
  return true;
}

/** Ends a block. Must be called before the state of its bytes is reset. */
export function blockEnds(address: u32, size: u32): void {
  if (MARKS === 0) return;
  const path: u32 = load<u16>(pathAt(address));
  if (path === 0) return;
  store<u16>(pathAt(address), 0);
  if (size !== 0) noteFates(blocksOf(path & ~CARRIED_ON), address, size, (path & CARRIED_ON) !== 0);
}

let wereRead: bool = false;
let wereWritten: bool = false;
let unread: u32 = 0;

function noteFates(blocks: usize, address: u32, size: u32, carriedOn: bool): void {
  bump(blocks + PathBlocks.blocks, 1);
  bump(blocks + PathBlocks.bytes, size);
  const smallest = load<u32>(blocks, PathBlocks.smallest);
  if (smallest === 0 || size < smallest) store<u32>(blocks, size, PathBlocks.smallest);
  if (size > load<u32>(blocks, PathBlocks.size)) {
    store<u32>(blocks, size, PathBlocks.size);
    makeRoom(blocks, (size + 3) >>> GRANULE_SHIFT);
  }
  wereRead = carriedOn;
  wereWritten = false;
  unread = 0;
  const fates: usize = load<u32>(blocks, PathBlocks.fates);
  const room = load<u32>(blocks, PathBlocks.granules);
  const whole = size >>> GRANULE_SHIFT;
  let granule: u32 = 0;
  for (; granule < whole; granule += GROUP)
    noteGroup(
      address + (granule << GRANULE_SHIFT),
      min(whole - granule, GROUP),
      granule < room ? fates + granule : 0,
    );
  if ((size & 3) !== 0) notePart(address, size, whole < room ? fates + whole : 0);
  if (!wereRead && wereWritten) {
    bump(blocks + PathBlocks.unread, 1);
    bump(blocks + PathBlocks.unreadBytes, size);
  }
  bump(blocks + PathBlocks.unreadGranules, (<u64>unread) << GRANULE_SHIFT);
}

/** Returns −1 in both words of each granule that was stored to, for the two granules of a vector of shadow words. */
@inline
function written(at: usize, invalidIds: v128): v128 {
  return i64x2.ne(v128.load(at), invalidIds);
}

/** Adds up to 16 granules to the sums. `fates` is the address of their fates, 0 if the fates are not recorded. */
@inline
function noteGroup(address: u32, count: u32, fates: usize): void {
  const at: usize = address << 1;
  const invalidIds = i64x2.splat(gone());
  const low = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(written(at, invalidIds), written(at + 16, invalidIds)),
    i16x8.narrow_i32x4_s(written(at + 32, invalidIds), written(at + 48, invalidIds)),
  );
  const high = i8x16.narrow_i16x8_s(
    i16x8.narrow_i32x4_s(written(at + 64, invalidIds), written(at + 80, invalidIds)),
    i16x8.narrow_i32x4_s(written(at + 96, invalidIds), written(at + 112, invalidIds)),
  );
  const isThere = i8x16.lt_u(
    i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    i8x16.splat(<i8>count),
  );
  const stored = v128.and(
    isThere,
    i8x16.shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
  );
  const marks = v128.load(MARKS + (address >>> GRANULE_SHIFT));
  const read = v128.and(isThere, i8x16.ne(marks, i8x16.splat(0)));
  if (v128.any_true(read)) wereRead = true;
  if (v128.any_true(stored)) wereWritten = true;
  unread += popcnt(i8x16.bitmask(v128.andnot(stored, read)));
  if (fates === 0) return;
  const before = v128.load(fates);
  const fate = v128.or(
    v128.and(read, i8x16.splat(<i8>GranuleFate.read)),
    v128.and(stored, i8x16.splat(<i8>GranuleFate.written)),
  );
  const after = v128.or(before, fate);
  if (v128.any_true(v128.xor(before, after))) v128.store(fates, after);
}

function notePart(address: u32, size: u32, fates: usize): void {
  let isStored = false;
  for (let i = size & ~3; i < size; i++) if (!isInvalid(load<u16>((address + i) << 1))) isStored = true;
  const isRead = load<u8>(MARKS + ((address + size) >>> GRANULE_SHIFT)) !== 0;
  if (isRead) wereRead = true;
  if (isStored) wereWritten = true;
  if (isStored && !isRead) unread++;
  if (fates !== 0)
    store<u8>(
      fates,
      load<u8>(fates) | (isRead ? GranuleFate.read : 0) | (isStored ? GranuleFate.written : 0),
    );
}

/**
 * Moves the fates of a path to a place of at least twice the size, if there is room. Needed once its blocks are larger
 * than before.
 */
function makeRoom(blocks: usize, granules: u32): void {
  const before = load<u32>(blocks, PathBlocks.granules);
  if (granules <= before || before === MOST_GRANULES) return;
  let room = max(before, GROUP);
  while (room < granules && room < MOST_GRANULES) room <<= 1;
  let next: usize = load<u32>(CONTROL, Control.fatesNext);
  if (next === 0) next = FATES;
  if (next + room > FATES_END) return;
  store<u32>(CONTROL, <u32>next + room, Control.fatesNext);
  memory.copy(next, load<u32>(blocks, PathBlocks.fates), before);
  store<u32>(blocks, <u32>next, PathBlocks.fates);
  store<u32>(blocks, room, PathBlocks.granules);
}
