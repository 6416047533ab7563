// Which bytes are copies of which, for stores whose bytes are read by nothing but copies that are dead themselves. A byte
// has a record when it is copied, and when it is a copy; a record lives as long as its byte or a record below it.
//
//   ORIGINS   u32 per byte of program memory: its record, 0 for none
//   COPIES    {store key, record it was copied from (or the next free one), records below, flags}
import { C_COPIES_LOST, C_COPY_FREE, C_COPY_NEXT, CONTROL, S_TRANSITIVE } from "./layout";
import { bump, INVALID, isReal, KEY, READ, stateOf, storeRecord, wordAt } from "./state";
import { originsCopy, originsFill, originsLoad, originsStore } from "./tables";

@external("layout", "ORIGINS")
declare const ORIGINS: u32;
// Nobody asks without room for copies.
@external("layout", "COPIES")
declare const COPIES: u32;
@external("layout", "COPY_CAPACITY")
declare const COPY_CAPACITY: u32;

const COPY_SIZE: u32 = 16;
const PARENT: usize = 4;
const CHILDREN: usize = 8;
const FLAGS: usize = 12;
/** The byte is still there. */
const ALIVE: u32 = 1;
/** Something other than a copy read it, or a copy of it. */
const USED: u32 = 2;
const COPIED: u32 = 4;

@inline export function followsCopies(): bool { return COPY_CAPACITY != 0; }
@inline function slot(address: u32): u32 { return ORIGINS + (address << 2); }
@inline function copyAt(copy: u32): usize { return COPIES + copy * COPY_SIZE; }

function newCopy(key: u32, parent: u32): u32 {
  let copy = load<u32>(CONTROL, C_COPY_FREE);
  if (copy != 0) store<u32>(CONTROL, load<u32>(copyAt(copy), PARENT), C_COPY_FREE);
  else {
    copy = load<u32>(CONTROL, C_COPY_NEXT) + 1;
    if (copy >= COPY_CAPACITY) {
      store<u32>(CONTROL, load<u32>(CONTROL, C_COPIES_LOST) + 1, C_COPIES_LOST);
      return 0;
    }
    store<u32>(CONTROL, copy, C_COPY_NEXT);
  }
  const at = copyAt(copy);
  store<u32>(at, key);
  store<u32>(at, parent, PARENT);
  store<u32>(at, 0, CHILDREN);
  store<u32>(at, ALIVE, FLAGS);
  return copy;
}

function use(copy: u32): void {
  while (copy != 0) {
    const at = copyAt(copy);
    const flags = load<u32>(at, FLAGS);
    if ((flags & USED) != 0) return;
    store<u32>(at, flags | USED, FLAGS);
    copy = load<u32>(at, PARENT);
  }
}

/** The program or the host looks at the byte. */
@inline export function usedByte(address: u32): void {
  if (COPY_CAPACITY != 0 && originsLoad(slot(address)) != 0) use(originsLoad(slot(address)));
}

/** The byte is about to be read by a copy. Comes before its writer is credited. */
export function copiedByte(address: u32): void {
  if (COPY_CAPACITY == 0) return;
  let copy = originsLoad(slot(address));
  if (copy == 0) {
    const word = wordAt(address);
    const state = stateOf(word);
    // Without a record, whoever read it was no copy.
    if (state == READ || state == INVALID || !isReal(word & KEY)) return;
    copy = newCopy(word & KEY, 0);
    if (copy == 0) return;
    originsStore(slot(address), copy);
  }
  store<u32>(copyAt(copy), load<u32>(copyAt(copy), FLAGS) | COPIED, FLAGS);
}

/** A record whose byte is gone, and those it was copied from, as far as nothing is left of them. */
function settle(copy: u32): void {
  while (copy != 0) {
    const at = copyAt(copy);
    const flags = load<u32>(at, FLAGS);
    if ((flags & ALIVE) != 0 || load<u32>(at, CHILDREN) != 0) return;
    if ((flags & (USED | COPIED)) == COPIED) bump(storeRecord(load<u32>(at)) + S_TRANSITIVE, 1);
    const parent = load<u32>(at, PARENT);
    store<u32>(at, 0, FLAGS);
    store<u32>(at, load<u32>(CONTROL, C_COPY_FREE), PARENT);
    store<u32>(CONTROL, copy, C_COPY_FREE);
    if (parent != 0) store<u32>(copyAt(parent), load<u32>(copyAt(parent), CHILDREN) - 1, CHILDREN);
    copy = parent;
  }
}

/** The byte is overwritten, or its memory is gone. */
@inline export function endedByte(address: u32): void {
  if (COPY_CAPACITY != 0 && originsLoad(slot(address)) != 0) endRecord(address);
}

function endRecord(address: u32): void {
  const copy = originsLoad(slot(address));
  originsStore(slot(address), 0);
  store<u32>(copyAt(copy), load<u32>(copyAt(copy), FLAGS) & ~ALIVE, FLAGS);
  settle(copy);
}

function copyByte(destination: u32, source: u32, key: u32): void {
  const from = originsLoad(slot(source));
  let copy: u32 = 0;
  // What is used already stays so whatever becomes of its copies.
  if (from != 0 && (load<u32>(copyAt(from), FLAGS) & USED) == 0) {
    copy = newCopy(key, from);
    if (copy != 0) store<u32>(copyAt(from), load<u32>(copyAt(from), CHILDREN) + 1, CHILDREN);
    else use(from);
  }
  endedByte(destination);
  originsStore(slot(destination), copy);
}

/** `key` is about to store copies; the ranges may overlap. */
export function copyBytes(destination: u32, source: u32, size: u32, key: u32): void {
  if (COPY_CAPACITY == 0) return;
  if (destination <= source) for (let i: u32 = 0; i < size; i++) copyByte(destination + i, source + i, key);
  else for (let i = size; i != 0; i--) copyByte(destination + i - 1, source + i - 1, key);
}

/** The allocator moves a block: what its bytes are copies of goes with them. */
export function moveOrigins(destination: u32, source: u32, size: u32): void {
  if (COPY_CAPACITY == 0) return;
  originsCopy(slot(destination), slot(source), size << 2);
  originsFill(slot(source), 0, size << 2);
}
