// The sampled lines where their number is bounded: a heap of `hash << 32 | line`, the largest on top.
import { HEAP } from "./imports";

@inline
function at(index: u32): usize {
  return HEAP + (index << 3);
}

export function largest(): u64 {
  return load<u64>(HEAP);
}

/** Puts an entry on a heap of `count`. */
export function push(entry: u64, count: u32): void {
  let place = count;
  while (place != 0) {
    const parent = (place - 1) >>> 1;
    const above = load<u64>(at(parent));
    if (above >= entry) break;
    store<u64>(at(place), above);
    place = parent;
  }
  store<u64>(at(place), entry);
}

/** Takes the largest entry off a heap of `count`. */
export function pop(count: u32): u64 {
  const top = load<u64>(HEAP);
  const last = count - 1;
  const entry = load<u64>(at(last));
  let place: u32 = 0;
  for (;;) {
    let child: u32 = 2 * place + 1;
    if (child >= last) break;
    if (child + 1 < last && load<u64>(at(child + 1)) > load<u64>(at(child))) child++;
    const below = load<u64>(at(child));
    if (below <= entry) break;
    store<u64>(at(place), below);
    place = child;
  }
  store<u64>(at(place), entry);
  return top;
}
