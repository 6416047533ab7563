// Whose a line is that was touched in the open interval: at the scale of that, and how that changes whose it is in the
// longer intervals that this one is part of.
import { CONTROL } from "../../assembly/imports";
import { Control } from "../../assembly/layout.generated";
import { bitsInside, entryAt } from "./blocks";
import { BLOCKS, FIRSTS, HEADS, STARTS, STATE } from "./imports";
import { BLOCK_BYTES, Block, Key, Freed, State } from "./layout.generated";
import { touchedInBlock } from "./masks";
import { addShares } from "./owned";

export const PART_SIZE: u32 = 16;
let parts: u32 = 0;

/** Divides a line among the blocks that its bytes were touched in, and what lies around them. */
export function share(line: u32, touched: u64, freed: u64, bucket: u32): void {
  parts = 0;
  let owned: u64 = 0;
  if (touched !== 0) {
    const inBlock = touchedInBlock(line);
    const first = load<u32>(FIRSTS + (line << 2));
    if (first !== 0) owned |= partOfBlock(line, first, inBlock);
    const starts: usize = STARTS + (line << 5);
    for (let granule: u32 = 0; granule < 8; granule++) {
      const number = load<u32>(starts + (granule << 2));
      if (number !== 0) owned |= partOfBlock(line, number, inBlock & ~owned);
    }
  }
  if (freed !== 0)
    for (let at = load<u32>(HEADS + (line << 2)); at !== 0; at = load<u32>(entryAt(at), Freed.next)) {
      const own = load<u64>(entryAt(at), Freed.mask) & ~owned;
      notePart(load<u32>(entryAt(at), Freed.key), own);
      owned |= own;
    }
  const region = regionOfLine(line);
  notePart(region, touched & ~owned);
  addShares(line, parts, region, bucket, load<u32>(CONTROL, Control.interval) + 1);
}

/** A live block's part of a line; returns its touched bytes. */
function partOfBlock(line: u32, number: u32, touched: u64): u64 {
  const block: usize = BLOCKS + number * BLOCK_BYTES;
  const address = load<u32>(block, Block.address);
  const end = address + load<u32>(block, Block.size);
  if (end <= line << 6) return 0;
  const own = touched & bitsInside(line, address, end);
  notePart(load<u32>(block, Block.key), own);
  return own;
}

/** Each key has one part of a line. */
function notePart(key: u32, mask: u64): void {
  if (mask === 0) return;
  const end: usize = STATE + State.parts + parts * PART_SIZE;
  for (let at: usize = STATE + State.parts; at < end; at += PART_SIZE)
    if (load<u32>(at) === key) {
      store<u64>(at, load<u64>(at, 8) | mask, 8);
      return;
    }
  store<u32>(end, key);
  store<u64>(end, mask, 8);
  parts++;
}

/** What a line is part of if it is no block's. */
export function regionOfLine(line: u32): u32 {
  if (line >= load<u32>(CONTROL, Control.stackFrom) && line < load<u32>(CONTROL, Control.stackTo))
    return Key.stack;
  return line >= load<u32>(CONTROL, Control.heapFrom) ? Key.heap : Key.statics;
}
