import { READS_BYTES } from "../layout.ts";
import { READ_BYTE, ShadowIds, WORD_TABLES } from "../memory-plan.ts";
import { coveredNow, readCount, type WasteTables } from "./tables.ts";

/** In words of precise mode: the key, and states in the two bits above. */
export const KEY_MASK = 0x3fffffff;
export const UNREAD = 1;
export const INVALID = 3;
const READ_WORD = 0x80000000;

/** A word per byte of the program's memory; empty where the tool has none. */
export type WasteWords = Readonly<Record<(typeof WORD_TABLES)[number], Uint32Array>>;

const NO_WORDS = new Uint32Array(0);

/** What precise mode knows of each byte of the program's memory; summary mode, of bytes whose writers have no ids. */
export function wordsOf(tables: WasteTables): WasteWords {
  const { view, further, description } = tables;
  const count = coveredNow(tables);
  const table = (name: (typeof WORD_TABLES)[number]): Uint32Array => {
    const own = description.isSplit ? further[WORD_TABLES.indexOf(name)] : undefined;
    return own === undefined
      ? new Uint32Array(view.buffer, description[name], count)
      : new Uint32Array(own.buffer, 0, count);
  };
  return { writers: table("writers"), readers: description.engine === "full" ? table("readers") : NO_WORDS };
}

/** Bytes per store key that nobody has read. */
export function unreadBytes(tables: WasteTables): Map<number, number> {
  return tables.description.engine === "full" ? unreadWords(tables) : unreadIds(tables);
}

function unreadWords(tables: WasteTables): Map<number, number> {
  const { writers } = wordsOf(tables);
  const found = new Map<number, number>();
  forEachWritten(writers, (i) => {
    const key = writers[i] & KEY_MASK;
    if (writers[i] >>> 30 === UNREAD && key !== KEY_MASK && key !== 0) add(found, key);
  });
  return found;
}

function unreadIds(tables: WasteTables): Map<number, number> {
  const ids = idsOf(tables);
  const counts = new Uint32Array(0x10000);
  for (let i = 0; i < ids.length; i++) counts[ids[i]]++;
  const found = new Map<number, number>();
  for (let id: number = ShadowIds.first; id < ShadowIds.overflow; id++)
    if (counts[id] !== 0) found.set(keyOfId(tables, id), counts[id]);
  if (counts[ShadowIds.overflow] + counts[ShadowIds.overflow + 1] > 0) {
    const { writers } = wordsOf(tables);
    for (let i = 0; i < ids.length; i++)
      if (ids[i] >= ShadowIds.overflow && ids[i] < ShadowIds.invalid) add(found, writers[i]);
  }
  found.delete(0);
  return found;
}

function add(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Bytes per store key that were read, as far as they are counted by id. */
export function readBytes(tables: WasteTables): Map<number, number> {
  const { view, description } = tables;
  const found = new Map<number, number>();
  if (description.engine === "full") return found;
  for (let id: number = ShadowIds.first; id < ShadowIds.overflow; id++) {
    const bytes = readCount(view, description.reads + id * READS_BYTES);
    if (bytes !== 0) found.set(keyOfId(tables, id), bytes);
  }
  return found;
}

/** Bytes that are unread now belong to nobody. */
export function forgetWriters(tables: WasteTables): void {
  if (tables.description.engine === "full") {
    const { writers } = wordsOf(tables);
    for (let i = 0; i < writers.length; i++)
      if (writers[i] >>> 30 === UNREAD) writers[i] = (writers[i] & KEY_MASK) | READ_WORD;
  } else {
    const ids = idsOf(tables);
    for (let i = 0; i < ids.length; i++)
      if (ids[i] >= ShadowIds.first && ids[i] < ShadowIds.invalid) ids[i] = READ_BYTE;
  }
}

/** What summary mode knows of each byte of the program's memory. */
function idsOf(tables: WasteTables): Uint16Array {
  return new Uint16Array(tables.view.buffer, 0, coveredNow(tables));
}

/** The key of the store that has an id. */
function keyOfId({ view, description: { recordOf, recordShift } }: WasteTables, id: number): number {
  return view.getUint32(recordOf + id * 4, true) / 2 ** recordShift;
}

/** Visits the words that are not zero, and some that are. Most of a large memory was never written: two are looked at at once. */
function forEachWritten(words: Uint32Array, visit: (index: number) => void): void {
  const pairs = new Float64Array(words.buffer, words.byteOffset, words.length >>> 1);
  for (let pair = 0; pair < pairs.length; pair++) {
    if (pairs[pair] === 0 && words[pair * 2 + 1] === 0) continue;
    visit(pair * 2);
    visit(pair * 2 + 1);
  }
}
