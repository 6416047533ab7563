// Streams that share a place in each trip, one behind the other.
import { loadStream, NO_STORE, storeStream } from "./chosen/passes";
import { idOfKey } from "./chosen-ids/ids";
import { firstOf, firstStream, idOf, isStore, sizeOf } from "./stream-table";

/** Does `trips` of some streams, a bit each, from a trip on in which their place, now at `first`, is at `from`. */
export function passEach(streams: u32, first: u32, from: u32, stride: i32, trips: u32): void {
  // A load behind which a store to the same place may come.
  let last: usize = 0;
  for (; streams != 0; streams &= streams - 1) {
    const at = firstStream(streams);
    // What such a load leaves need not be written.
    const isLeft = last != 0 && isStore(at) && firstOf(at) == firstOf(last) && sizeOf(at) == sizeOf(last);
    if (last != 0) passLoad(last, first, from, stride, trips, isLeft ? idOfKey(idOf(at)) : NO_STORE);
    last = isStore(at) ? 0 : at;
    if (isStore(at) && !isLeft) storeStream(from + (firstOf(at) - first), stride, sizeOf(at), trips, idOf(at));
  }
  if (last != 0) passLoad(last, first, from, stride, trips, NO_STORE);
}

function passLoad(at: usize, first: u32, from: u32, stride: i32, trips: u32, left: u32): void {
  loadStream(from + (firstOf(at) - first), stride, sizeOf(at), trips, idOf(at), left);
}
