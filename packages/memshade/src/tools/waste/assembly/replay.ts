// Loops that have ended, access by access: trips in which streams meet.
import { fresh1, fresh16, fresh2, fresh4, fresh8 } from "./brief";
import { fewAreRead, writeFew } from "./chosen/bytes";
import { markDirty } from "./dirty";
import { firstOf, idOf, moveBy, SIZE_BITS, STORE_BIT, stream, T_WHAT } from "./stream-table";

// Code for each size, so that sizes are constants.
@inline function storeOf(address: u32, size: u32, id: u32): void {
  markDirty(address, size);
  writeFew(address, size, id);
}

@inline export function storeOne(address: u32, size: u32, id: u32): void {
  if (size == 4) storeOf(address, 4, id);
  else if (size == 1) storeOf(address, 1, id);
  else if (size == 8) storeOf(address, 8, id);
  else if (size == 2) storeOf(address, 2, id);
  else storeOf(address, 16, id);
}

@inline export function loadOne(address: u32, size: u32, number: u32): void {
  if (size == 4) { if (!fewAreRead(address, 4)) fresh4(address, number); }
  else if (size == 1) { if (!fewAreRead(address, 1)) fresh1(address, number); }
  else if (size == 8) { if (!fewAreRead(address, 8)) fresh8(address, number); }
  else if (size == 2) { if (!fewAreRead(address, 2)) fresh2(address, number); }
  else if (!fewAreRead(address, 16)) fresh16(address, number);
}

/** Does the next `trips` in the order of the loop. */
export function replay(trips: u32, count: u32): void {
  for (; trips != 0; trips--)
    for (let i: u32 = 0; i < count; i++) {
      const at = stream(i);
      const address = firstOf(at);
      const what = load<u32>(at, T_WHAT);
      const id = idOf(at);
      if ((what & STORE_BIT) != 0) storeOne(address, what & SIZE_BITS, id);
      else loadOne(address, what & SIZE_BITS, id);
      moveBy(at, 1);
    }
}
