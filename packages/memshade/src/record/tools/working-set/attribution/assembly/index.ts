// Attribution of the working set: an optional part of the working-set tool, merged into the profiled module function by
// function.
import { LINES } from "../../assembly/imports";
import { BYTES, COVERED, FILL, FIRST_TOUCH, OWNERS, STATE, TOUCHERS } from "./imports";
import { Key, State } from "./layout.generated";

export { enterFrame } from "../../../../contexts/assembly/frames";
export { allocated, reallocated, released, requested } from "./blocks";
export { attribute, merged } from "./snapshot";

export function touched(first: u32, last: u32, key: u32): void {
  if (last >= LINES) return;
  for (let line = first; line <= last; line++) {
    const at: usize = TOUCHERS + (line << 2);
    if (load<u32>(at) === 0) store<u32>(at, key);
  }
}

/** Records touched lines and bytes of a range of any size. Ranges beyond the program's memory are left to trap. */
function touchRange(address: u32, size: u32, key: u32): void {
  if (size === 0) return;
  const last = <u64>address + size - 1;
  if (last >>> 6 >= LINES) return;
  if (FIRST_TOUCH) touched(address >>> 6, <u32>(last >>> 6), key);
  if (FILL | OWNERS && address < COVERED) memory.fill(BYTES + address, 1, min(size, COVERED - address));
}

/** Called after an access in a function that is too large for inline code. */
export function accessed(address: u32, size: u32, key: u32): void {
  const last = (address + size - 1) >>> 6;
  if (last >= LINES) return;
  if (FIRST_TOUCH) touched(address >>> 6, last, key);
  if (FILL | OWNERS)
    for (let i: u32 = 0; i < size && address + i < COVERED; i++) store<u8>(BYTES + address + i, 1);
}

export function copied(destination: u32, source: u32, size: u32): void {
  const key = load<u32>(STATE, State.key);
  touchRange(source, size, key);
  touchRange(destination, size, key);
}

export function filled(destination: u32, _value: u32, size: u32): void {
  touchRange(destination, size, load<u32>(STATE, State.key));
}

/** Called after `memory.init`. */
export function initialized(destination: u32, size: u32): void {
  touchRange(destination, size, load<u32>(STATE, State.key));
}

/** Records an access by the host, for the call that led to it if there is one. */
export function hostAccessed(address: u32, size: u32): void {
  const key = load<u32>(STATE, State.key);
  touchRange(address, size, key === 0 ? Key.host : key);
}
