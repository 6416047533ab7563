import type { Window } from "../../../ground/bytes/window.ts";
import { Cursor } from "./cursor.ts";
import { padTo8 } from "./layout.ts";

const FIRST_BUCKETS = 64;
const NONE = -1;

/** Lists of a chained hash table; an entry is the number of a key. */
export interface Buckets {
  readonly length: number;
  readonly head: Int32Array;
  readonly next: Int32Array;
}

/**
 * Builds the lists of LLVM's on-disk hash table after inserting the keys in the given order. A key goes to the head of
 * its bucket's list, and rebuilding reverses lists (memprof-format, section 10.1).
 */
export function bucketsOfInserted(keys: BigUint64Array): Buckets {
  let buckets = emptyBuckets(FIRST_BUCKETS, keys.length);
  for (let entry = 0; entry < keys.length; entry++) {
    if (4 * (entry + 1) >= 3 * buckets.length) buckets = rebuild(buckets, keys, buckets.length * 2);
    insertAtHead(buckets, keys, entry);
  }
  const target = finalBuckets(keys.length);
  return target === buckets.length ? buckets : rebuild(buckets, keys, target);
}

/** Builds lists whose entries are in the order of the keys. */
export function bucketsInOrder(keys: BigUint64Array): Buckets {
  const buckets = emptyBuckets(finalBuckets(keys.length), keys.length);
  for (let entry = keys.length - 1; entry >= 0; entry--) insertAtHead(buckets, keys, entry);
  return buckets;
}

function rebuild(old: Buckets, keys: BigUint64Array, length: number): Buckets {
  const buckets = emptyBuckets(length, keys.length);
  for (const first of old.head)
    for (let entry = first; entry !== NONE; entry = old.next[entry]!) insertAtHead(buckets, keys, entry);
  return buckets;
}

function emptyBuckets(length: number, entries: number): Buckets {
  return { length, head: new Int32Array(length).fill(NONE), next: new Int32Array(entries).fill(NONE) };
}

function insertAtHead({ length, head, next }: Buckets, keys: BigUint64Array, entry: number): void {
  const bucket = bucketOf(keys[entry]!, length);
  next[entry] = head[bucket]!;
  head[bucket] = entry;
}

function bucketOf(key: bigint, buckets: number): number {
  return Number(BigInt.asUintN(32, key)) & (buckets - 1);
}

function finalBuckets(entries: number): number {
  return entries <= 2 ? 1 : 2 ** Math.ceil(Math.log2(Math.floor((4 * entries) / 3) + 1));
}

/** Layout of a table in a file. All offsets are absolute. */
export interface TablePlan {
  readonly buckets: Buckets;
  readonly offsets: Float64Array;
  readonly payloadEnd: number;
  readonly bucketTable: number;
  readonly end: number;
}

/**
 * Computes the layout of a table.
 *
 * @param start offset of the payload
 * @param entryBytes size of an entry with its hash, lengths and key
 */
export function planTable(start: number, buckets: Buckets, entryBytes: (entry: number) => number): TablePlan {
  const offsets = new Float64Array(buckets.length);
  let position = start;
  for (const [bucket, first] of buckets.head.entries()) {
    if (first === NONE) continue;
    offsets[bucket] = position;
    position += 2;
    for (let entry = first; entry !== NONE; entry = buckets.next[entry]!) position += entryBytes(entry);
  }
  const bucketTable = padTo8(position);
  return { buckets, offsets, payloadEnd: position, bucketTable, end: bucketTable + 16 + 8 * buckets.length };
}

export function* entriesByBucket({ head, next }: Buckets): Generator<number[]> {
  for (const first of head) {
    if (first === NONE) continue;
    const entries: number[] = [];
    for (let entry = first; entry !== NONE; entry = next[entry]!) entries.push(entry);
    yield entries;
  }
}

export interface TableEntry {
  readonly key: bigint;
  readonly data: number;
  readonly dataBytes: number;
}

/**
 * Yields all entries, bucket by bucket in stored order.
 *
 * @param bucketTable absolute offset of the bucket table
 * @param hasKeyLength false for the call stack table, which has no key lengths
 */
export function* readTable(
  file: Window,
  bucketTable: number,
  hasKeyLength: boolean,
  name: string,
): Generator<TableEntry> {
  const table = new Cursor(file.another(), bucketTable, name);
  const payloads = file.another();
  const bucketCount = table.u64();
  table.u64();
  if ((bucketCount & (bucketCount - 1n)) !== 0n) throw table.error(`${bucketCount} buckets`);
  if (bucketCount * 8n > table.remaining) throw table.error(`${bucketCount} buckets do not fit`);
  let taken = 0;
  for (let bucket = 0; bucket < bucketCount; bucket++) {
    const offset = table.offset("bucket");
    if (offset === 0) continue;
    const payload = new Cursor(payloads, offset, name);
    const entries = payload.u16();
    for (let index = 0; index < entries; index++) {
      const start = payload.position;
      const hash = payload.u64();
      if (hasKeyLength && payload.u64() !== 8n) throw payload.error("a key that is not eight bytes long");
      const length = payload.u64();
      const key = payload.u64();
      // A lookup would not find a key in the wrong bucket.
      if (hash !== key || bucketOf(key, Number(bucketCount)) !== bucket)
        throw payload.error(`the key ${key} is in the wrong place`);
      if (length > payload.remaining) throw payload.error(`an entry of ${length} bytes`);
      const dataBytes = Number(length);
      const data = payload.skip(dataBytes);
      // Buckets that share entries could make the table larger than the file.
      taken += payload.position - start;
      if (taken > file.size) throw payload.error("buckets overlap");
      yield { key, data, dataBytes };
    }
  }
}
