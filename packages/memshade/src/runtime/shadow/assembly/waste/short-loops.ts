// Loops of a few trips, access by access in the order of the loop. There are many of them, so their streams are only read: how
// many trips have passed tells where an access is.
import { loadOne, storeOne } from "./replay";
import { firstOf, idOf, nextStream, SIZE_BITS, STORE_BIT, stream, strideOf, T_WHAT } from "./stream-table";

/** Does all trips of a loop with `count` streams. */
@inline export function passShort(trips: u32, count: u32): void {
  if (count == 1) { passAlone(trips); return; }
  const end = stream(count);
  for (let trip: u32 = 0; trip != trips; trip++)
    for (let at = stream(0); at != end; at = nextStream(at)) {
      const what = load<u32>(at, T_WHAT);
      const address = firstOf(at) + strideOf(at) * trip;
      if ((what & STORE_BIT) != 0) storeOne(address, what & SIZE_BITS, idOf(at));
      else loadOne(address, what & SIZE_BITS, idOf(at));
    }
}

/** The same of a loop with one access. */
@inline function passAlone(trips: u32): void {
  const at = stream(0);
  const stride = strideOf(at);
  const what = load<u32>(at, T_WHAT);
  const size = what & SIZE_BITS;
  const id = idOf(at);
  let address = firstOf(at);
  if ((what & STORE_BIT) != 0) {
    for (; trips != 0; trips--) { storeOne(address, size, id); address += stride; }
  } else if (size == 4) {
    for (; trips != 0; trips--) { loadOne(address, 4, id); address += stride; }
  } else for (; trips != 0; trips--) { loadOne(address, size, id); address += stride; }
}
