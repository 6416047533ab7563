// Loops of a few trips, access by access in the order of the loop. There are many of them, most of one trip or two, so their streams
// are only read, as they stand in the table: how many trips are left tells where an access is.
import { loadOne, storeOne } from "./replay";
import { addressFrom, endFrom, firstFrom, idFrom, nextFrom, SIZE_BITS, STORE_BIT, strideFrom, whatFrom } from "./stream-table";

/** Does all trips of a loop. */
@inline export function passShort(trips: u32, loop: usize, base: u32): void {
  const end = endFrom(loop);
  if (nextFrom(firstFrom(loop)) == end) { passAlone(trips, firstFrom(loop), base); return; }
  for (; trips != 0; trips--)
    for (let from = firstFrom(loop); from != end; from = nextFrom(from)) {
      const what = whatFrom(from);
      const address = addressFrom(from, strideFrom(from), trips);
      if ((what & STORE_BIT) != 0) storeOne(address, what & SIZE_BITS, idFrom(from, base));
      else loadOne(address, what & SIZE_BITS, idFrom(from, base));
    }
}

/** The same of a loop with one access. */
@inline function passAlone(trips: u32, from: usize, base: u32): void {
  const stride = strideFrom(from);
  const what = whatFrom(from);
  const size = what & SIZE_BITS;
  const id = idFrom(from, base);
  let address = addressFrom(from, stride, trips);
  if ((what & STORE_BIT) != 0) {
    for (; trips != 0; trips--) { storeOne(address, size, id); address += stride; }
  } else if (size == 4) {
    for (; trips != 0; trips--) { loadOne(address, 4, id); address += stride; }
  } else for (; trips != 0; trips--) { loadOne(address, size, id); address += stride; }
}
