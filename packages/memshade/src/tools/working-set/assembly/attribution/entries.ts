// What the lines of an interval add up to: weights by key, kind and bucket.
import {
  A_KEYS_LOST,
  A_LAST,
  A_LISTS,
  A_LISTS_LOST,
  A_USED,
  E_KEY,
  E_TAG,
  E_WEIGHT,
  ENTRY_SIZE,
  LAST_SIZE,
  LISTS,
  LISTS_END,
  LISTS_LIMIT,
  OTHERS,
  STATE,
  TABLE,
  TABLE_MASK,
  USED,
} from "./layout";

const LIST_HEADER: u32 = 8;

/** Adds to an entry. Where there is no room for one more, all others of the kind and bucket share one. */
export function add(key: u32, kind: u32, bucket: u32, weight: f64): void {
  const tag = (kind << 8) | bucket;
  // Lines in a row mostly add to one entry.
  const last: usize = STATE + A_LAST + kind * LAST_SIZE;
  if (load<u32>(last) == key && load<u32>(last, 4) == tag) {
    const known: usize = load<u32>(last, 8);
    store<f64>(known, load<f64>(known, E_WEIGHT) + weight, E_WEIGHT);
    return;
  }
  let entry = find(key, tag);
  if (load<u32>(entry, E_TAG) == 0 && key != OTHERS && load<u32>(STATE, A_USED) >= TABLE_MASK >>> 1) {
    store<u32>(STATE, load<u32>(STATE, A_KEYS_LOST) + 1, A_KEYS_LOST);
    entry = find(OTHERS, tag);
    key = OTHERS;
  }
  if (load<u32>(entry, E_TAG) == 0) {
    const used = load<u32>(STATE, A_USED);
    store<u32>(USED + (used << 2), <u32>entry);
    store<u32>(STATE, used + 1, A_USED);
    store<u32>(entry, key, E_KEY);
    store<u32>(entry, tag, E_TAG);
  }
  store<f64>(entry, load<f64>(entry, E_WEIGHT) + weight, E_WEIGHT);
  store<u32>(last, key);
  store<u32>(last, tag, 4);
  store<u32>(last, <u32>entry, 8);
}

/** The entry of a key and tag, or the empty one where it belongs: the table is never full. */
function find(key: u32, tag: u32): usize {
  let h: u32 = key * 0x9e3779b1 + tag * 0x85ebca6b;
  h ^= h >>> 15;
  let entry: usize = TABLE + (h & TABLE_MASK) * ENTRY_SIZE;
  while (load<u32>(entry, E_TAG) != 0 && (load<u32>(entry, E_TAG) != tag || load<u32>(entry, E_KEY) != key)) {
    h++;
    entry = TABLE + (h & TABLE_MASK) * ENTRY_SIZE;
  }
  return entry;
}

/** The entries become the list of one snapshot. */
export function list(): void {
  memory.fill(STATE + A_LAST, 0, LAST_SIZE * 4);
  const used = load<u32>(STATE, A_USED);
  const at: usize = LISTS + load<u32>(STATE, A_LISTS);
  if (at + LIST_HEADER + used * ENTRY_SIZE <= LISTS_LIMIT) {
    let to = at + LIST_HEADER;
    for (let i: u32 = 0; i < used; i++, to += ENTRY_SIZE) {
      const entry: usize = load<u32>(USED + (i << 2));
      v128.store(to, v128.load(entry));
      v128.store(entry, i32x4.splat(0));
    }
    close(at, to);
    return;
  }
  store<u32>(STATE, load<u32>(STATE, A_LISTS_LOST) + 1, A_LISTS_LOST);
  listOthers(at, used);
}

/** The same with one entry for all keys of a kind and bucket. */
function listOthers(at: usize, used: u32): void {
  let end = at + LIST_HEADER;
  for (let i: u32 = 0; i < used; i++) {
    const entry: usize = load<u32>(USED + (i << 2));
    const tag = load<u32>(entry, E_TAG);
    let to = at + LIST_HEADER;
    while (to < end && load<u32>(to, E_TAG) != tag) to += ENTRY_SIZE;
    if (to == end && to + ENTRY_SIZE <= LISTS_END) {
      store<u32>(to, OTHERS, E_KEY);
      store<u32>(to, tag, E_TAG);
      end += ENTRY_SIZE;
    }
    if (to < end) store<f64>(to, load<f64>(to, E_WEIGHT) + load<f64>(entry, E_WEIGHT), E_WEIGHT);
    v128.store(entry, i32x4.splat(0));
  }
  if (at + LIST_HEADER <= LISTS_END) close(at, end);
}

function close(at: usize, end: usize): void {
  store<u32>(at, <u32>((end - at - LIST_HEADER) / ENTRY_SIZE));
  store<u32>(STATE, <u32>(end - LISTS), A_LISTS);
  store<u32>(STATE, 0, A_USED);
}
