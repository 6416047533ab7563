// Which bytes are copies of which, for stores whose bytes are read by nothing but copies that are dead themselves. A byte
// has a record when it is copied, and when it is a copy; a record lives as long as its byte or a record below it.
//
//   ORIGINS   u32 per byte of program memory: its record, 0 for none
//   COPIES    {store key, record it was copied from (or the next free one), records below, flags}
import { CONTROL, COPIES, COPY_CAPACITY, ORIGINS, originsCopy, originsFill, originsLoad, originsStore } from "../imports";
import { COPY_BYTES, Control, Copy, CopyFlag, Store } from "../layout.generated";
import { INVALID, KEY, READ, bump, isReal, stateOf, storeRecord, wordAt } from "./state";

@inline export function followsCopies(): bool { return COPY_CAPACITY != 0; }
@inline function slot(address: u32): u32 { return ORIGINS + (address << 2); }
@inline function copyAt(copy: u32): usize { return COPIES + copy * COPY_BYTES; }

function newCopy(key: u32, parent: u32): u32 {
  let copy = load<u32>(CONTROL, Control.copyFree);
  if (copy != 0) store<u32>(CONTROL, load<u32>(copyAt(copy), Copy.parent), Control.copyFree);
  else {
    copy = load<u32>(CONTROL, Control.copyNext) + 1;
    if (copy >= COPY_CAPACITY) {
      store<u32>(CONTROL, load<u32>(CONTROL, Control.copiesLost) + 1, Control.copiesLost);
      return 0;
    }
    store<u32>(CONTROL, copy, Control.copyNext);
  }
  const at = copyAt(copy);
  store<u32>(at, key);
  store<u32>(at, parent, Copy.parent);
  store<u32>(at, 0, Copy.children);
  store<u32>(at, CopyFlag.alive, Copy.flags);
  return copy;
}

function use(copy: u32): void {
  while (copy != 0) {
    const at = copyAt(copy);
    const flags = load<u32>(at, Copy.flags);
    if ((flags & CopyFlag.used) != 0) return;
    store<u32>(at, flags | CopyFlag.used, Copy.flags);
    copy = load<u32>(at, Copy.parent);
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
  store<u32>(copyAt(copy), load<u32>(copyAt(copy), Copy.flags) | CopyFlag.copied, Copy.flags);
}

/** A record whose byte is gone, and those it was copied from, as far as nothing is left of them. */
function settle(copy: u32): void {
  while (copy != 0) {
    const at = copyAt(copy);
    const flags = load<u32>(at, Copy.flags);
    if ((flags & CopyFlag.alive) != 0 || load<u32>(at, Copy.children) != 0) return;
    if ((flags & (CopyFlag.used | CopyFlag.copied)) == CopyFlag.copied) bump(storeRecord(load<u32>(at)) + Store.transitive, 1);
    const parent = load<u32>(at, Copy.parent);
    store<u32>(at, 0, Copy.flags);
    store<u32>(at, load<u32>(CONTROL, Control.copyFree), Copy.parent);
    store<u32>(CONTROL, copy, Control.copyFree);
    if (parent != 0) store<u32>(copyAt(parent), load<u32>(copyAt(parent), Copy.children) - 1, Copy.children);
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
  store<u32>(copyAt(copy), load<u32>(copyAt(copy), Copy.flags) & ~CopyFlag.alive, Copy.flags);
  settle(copy);
}

function copyByte(destination: u32, source: u32, key: u32): void {
  const from = originsLoad(slot(source));
  let copy: u32 = 0;
  // What is used already stays so whatever becomes of its copies.
  if (from != 0 && (load<u32>(copyAt(from), Copy.flags) & CopyFlag.used) == 0) {
    copy = newCopy(key, from);
    if (copy != 0) store<u32>(copyAt(from), load<u32>(copyAt(from), Copy.children) + 1, Copy.children);
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
