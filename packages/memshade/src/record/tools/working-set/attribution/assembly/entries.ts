// Sums over the lines of an interval: weights by key, kind and bucket.
import { LISTS, LISTS_END, LISTS_LIMIT, STATE, TABLE, TABLE_MASK, USED } from "./imports";
import { ENTRY_BYTES, Entry, Key, LAST_BYTES, State } from "./layout.generated";

const LIST_HEADER: u32 = 8;

/**
 * Adds to an entry. If there is no room for a new one, its weight goes to one entry that all others of the kind and
 * bucket share.
 */
export function add(key: u32, kind: u32, bucket: u32, weight: f64): void {
  const tag = (kind << 8) | bucket;
  // Consecutive lines mostly add to one entry.
  const last: usize = STATE + State.last + kind * LAST_BYTES;
  if (load<u32>(last) === key && load<u32>(last, 4) === tag) {
    const lastEntry: usize = load<u32>(last, 8);
    store<f64>(lastEntry, load<f64>(lastEntry, Entry.weight) + weight, Entry.weight);
    return;
  }
  let entry = find(key, tag);
  if (
    load<u32>(entry, Entry.tag) === 0 &&
    key !== Key.others &&
    load<u32>(STATE, State.used) >= TABLE_MASK >>> 1
  ) {
    store<u32>(STATE, load<u32>(STATE, State.keysLost) + 1, State.keysLost);
    entry = find(Key.others, tag);
    key = Key.others;
  }
  if (load<u32>(entry, Entry.tag) === 0) {
    const used = load<u32>(STATE, State.used);
    store<u32>(USED + (used << 2), <u32>entry);
    store<u32>(STATE, used + 1, State.used);
    store<u32>(entry, key, Entry.key);
    store<u32>(entry, tag, Entry.tag);
  }
  store<f64>(entry, load<f64>(entry, Entry.weight) + weight, Entry.weight);
  store<u32>(last, key);
  store<u32>(last, tag, 4);
  store<u32>(last, <u32>entry, 8);
}

/** Returns the entry of a key and tag, or the empty one for it. The table is never full. */
function find(key: u32, tag: u32): usize {
  let h: u32 = key * 0x9e3779b1 + tag * 0x85ebca6b;
  h ^= h >>> 15;
  let entry: usize = TABLE + (h & TABLE_MASK) * ENTRY_BYTES;
  while (
    load<u32>(entry, Entry.tag) !== 0 &&
    (load<u32>(entry, Entry.tag) !== tag || load<u32>(entry, Entry.key) !== key)
  ) {
    h++;
    entry = TABLE + (h & TABLE_MASK) * ENTRY_BYTES;
  }
  return entry;
}

export function list(): void {
  memory.fill(STATE + State.last, 0, LAST_BYTES * 4);
  const used = load<u32>(STATE, State.used);
  const at: usize = LISTS + load<u32>(STATE, State.lists);
  if (at + LIST_HEADER + used * ENTRY_BYTES <= LISTS_LIMIT) {
    let to = at + LIST_HEADER;
    for (let i: u32 = 0; i < used; i++, to += ENTRY_BYTES) {
      const entry: usize = load<u32>(USED + (i << 2));
      v128.store(to, v128.load(entry));
      v128.store(entry, i32x4.splat(0));
    }
    close(at, to);
    return;
  }
  store<u32>(STATE, load<u32>(STATE, State.listsLost) + 1, State.listsLost);
  listOthers(at, used);
}

/** Does the same with one entry for all keys of a kind and bucket. */
function listOthers(at: usize, used: u32): void {
  let end = at + LIST_HEADER;
  for (let i: u32 = 0; i < used; i++) {
    const entry: usize = load<u32>(USED + (i << 2));
    const tag = load<u32>(entry, Entry.tag);
    let to = at + LIST_HEADER;
    while (to < end && load<u32>(to, Entry.tag) !== tag) to += ENTRY_BYTES;
    if (to === end && to + ENTRY_BYTES <= LISTS_END) {
      store<u32>(to, Key.others, Entry.key);
      store<u32>(to, tag, Entry.tag);
      end += ENTRY_BYTES;
    }
    if (to < end) store<f64>(to, load<f64>(to, Entry.weight) + load<f64>(entry, Entry.weight), Entry.weight);
    v128.store(entry, i32x4.splat(0));
  }
  if (at + LIST_HEADER <= LISTS_END) close(at, end);
}

function close(at: usize, end: usize): void {
  store<u32>(at, <u32>((end - at - LIST_HEADER) / ENTRY_BYTES));
  store<u32>(STATE, <u32>(end - LISTS), State.lists);
  store<u32>(STATE, 0, State.used);
}
