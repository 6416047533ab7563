// Whose a line is that was touched in the open interval: at the scale of that, and how that changes whose it is in the
// longer intervals that this one is part of.
import { C_HEAP_FROM, C_INTERVAL, C_STACK_FROM, C_STACK_TO, CONTROL } from "../layout";
import { bitsInside, entryAt } from "./blocks";
import {
  A_PARTS,
  B_ADDRESS,
  B_KEY,
  B_SIZE,
  BLOCK_SIZE,
  BLOCKS,
  FIRSTS,
  HEADS,
  HEAP_KEY,
  STACK_KEY,
  STARTS,
  STATE,
  STATIC_KEY,
  T_KEY,
  T_MASK,
  T_NEXT,
} from "./layout";
import { touchedInBlock } from "./masks";
import { addShares } from "./owned";

export const PART_SIZE: u32 = 16;
let parts: u32 = 0;

/** Divides a line among the blocks that its bytes were touched in, and what lies around them. */
export function share(line: u32, touched: u64, settled: u64, bucket: u32): void {
  parts = 0;
  let owned: u64 = 0;
  if (touched != 0) {
    const inBlock = touchedInBlock(line);
    const first = load<u32>(FIRSTS + (line << 2));
    if (first != 0) owned |= partOfBlock(line, first, inBlock);
    const starts: usize = STARTS + (line << 5);
    for (let granule: u32 = 0; granule < 8; granule++) {
      const number = load<u32>(starts + (granule << 2));
      if (number != 0) owned |= partOfBlock(line, number, inBlock & ~owned);
    }
  }
  if (settled != 0)
    for (let at = load<u32>(HEADS + (line << 2)); at != 0; at = load<u32>(entryAt(at), T_NEXT)) {
      const own = load<u64>(entryAt(at), T_MASK) & ~owned;
      notePart(load<u32>(entryAt(at), T_KEY), own);
      owned |= own;
    }
  const region = regionOfLine(line);
  notePart(region, touched & ~owned);
  addShares(line, parts, region, bucket, load<u32>(CONTROL, C_INTERVAL) + 1);
}

/** A live block's part of a line; returns its touched bytes. */
function partOfBlock(line: u32, number: u32, touched: u64): u64 {
  const block: usize = BLOCKS + number * BLOCK_SIZE;
  const address = load<u32>(block, B_ADDRESS);
  const end = address + load<u32>(block, B_SIZE);
  if (end <= line << 6) return 0;
  const own = touched & bitsInside(line, address, end);
  notePart(load<u32>(block, B_KEY), own);
  return own;
}

/** Each key has one part of a line. */
function notePart(key: u32, mask: u64): void {
  if (mask == 0) return;
  const end: usize = STATE + A_PARTS + parts * PART_SIZE;
  for (let at: usize = STATE + A_PARTS; at < end; at += PART_SIZE)
    if (load<u32>(at) == key) {
      store<u64>(at, load<u64>(at, 8) | mask, 8);
      return;
    }
  store<u32>(end, key);
  store<u64>(end, mask, 8);
  parts++;
}

/** What a line is part of if it is no block's. */
export function regionOfLine(line: u32): u32 {
  if (line >= load<u32>(CONTROL, C_STACK_FROM) && line < load<u32>(CONTROL, C_STACK_TO)) return STACK_KEY;
  return line >= load<u32>(CONTROL, C_HEAP_FROM) ? HEAP_KEY : STATIC_KEY;
}
