import { entryOf } from "../../../../ground/bytes/entries.ts";
import { getU64 } from "../../../../ground/bytes/numbers.ts";
import type { PairKind } from "../../../../profile/model/waste.ts";
import { eachIndexEntry } from "../../../contexts/frames/index-table.ts";
import { IndexEntry, IndexKind } from "../../../contexts/layout.ts";
import { GREW, MOVED, PAIR_BYTES, Pair, READS_BYTES } from "../layout.ts";
import { READ_BYTE, ShadowIds, WORD_TABLES } from "../memory-plan.ts";
import { callersOf, readPathPlaces } from "./read-path-blocks.ts";
import { coveredNow, type WasteTables } from "./tables.ts";

/** Mask of the key in words of precise mode, and states in the two bits above. */
export const KEY_MASK = 0x3fffffff;
export const UNREAD = 1;
export const INVALID = 3;
const READ_WORD = 0x80000000;

/** Word per byte of the program's memory. Empty in a mode without the table. */
export type WasteWords = Readonly<Record<(typeof WORD_TABLES)[number], Uint32Array>>;

const NO_WORDS = new Uint32Array(0);

/** Returns the words of precise mode. In summary mode `writers` is valid only for bytes whose writers have no id. */
export function wordsOf(tables: WasteTables): WasteWords {
  const { view, further, description } = tables;
  const count = coveredNow(tables);
  const table = (name: (typeof WORD_TABLES)[number]): Uint32Array => {
    const ownMemory = description.isSplit ? further[WORD_TABLES.indexOf(name)] : undefined;
    return ownMemory === undefined
      ? new Uint32Array(view.buffer, description[name], count)
      : new Uint32Array(ownMemory.buffer, 0, count);
  };
  return { writers: table("writers"), readers: description.engine === "full" ? table("readers") : NO_WORDS };
}

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

/** Counts the read bytes per store key, as far as they are counted by id. */
export function readBytes(tables: WasteTables): Map<number, number> {
  const { view, description } = tables;
  const found = new Map<number, number>();
  if (description.engine === "full") return found;
  for (let id: number = ShadowIds.first; id < ShadowIds.overflow; id++) {
    const bytes = getU64(view, description.reads + id * READS_BYTES);
    if (bytes !== 0) found.set(keyOfId(tables, id), bytes);
  }
  return found;
}

/** Marks all unread bytes as read, so that no store is charged for them. */
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

function idsOf(tables: WasteTables): Uint16Array {
  return new Uint16Array(tables.view.buffer, 0, coveredNow(tables));
}

function keyOfId({ view, description: { recordOf, recordShift } }: WasteTables, id: number): number {
  return view.getUint32(recordOf + id * 4, true) / 2 ** recordShift;
}

/**
 * Visits the words that are not zero, and some that are. Reads two words at once, since most of a large memory was
 * never written.
 */
function forEachWritten(words: Uint32Array, visit: (index: number) => void): void {
  const pairs = new Float64Array(words.buffer, words.byteOffset, words.length >>> 1);
  for (let pair = 0; pair < pairs.length; pair++) {
    if (pairs[pair] === 0 && words[pair * 2 + 1] === 0) continue;
    visit(pair * 2);
    visit(pair * 2 + 1);
  }
}

const PAIR_KINDS = new Map<number, PairKind>(
  (["overwritten", "deallocated", "returned", "silent", "redundant"] as const).map((kind) => [
    Pair[kind],
    kind,
  ]),
);

/** Pair of paths. Undefined stands for a cause outside of the program's stores and loads. */
export interface PairFigures {
  kind: PairKind;
  first: string | undefined;
  origin: "init" | "zero" | undefined;
  second: string | undefined;
  /** Site that freed the block or returned from the frame; undefined if it is unknown. */
  end: number[] | undefined;
  bytes: number;
  operations: number;
}

export interface ReallocationFigures {
  /** Code offsets, innermost first; empty if the site is unknown. */
  path: number[];
  calls: number;
  grown: number;
  /** Number of moves to another address, and bytes that they copied. */
  moves: number;
  moved: number;
}

interface PairEntry {
  first: number;
  second: number;
  kind: number;
  bytes: number;
  operations: number;
}

function* entriesOf({ view, description: { pairs, pairCapacity } }: WasteTables): Generator<PairEntry> {
  for (let at = pairs; at < pairs + pairCapacity * PAIR_BYTES; at += PAIR_BYTES) {
    const kind = view.getUint32(at + 8, true);
    if (kind === 0) continue;
    yield {
      first: view.getUint32(at, true),
      second: view.getUint32(at + 4, true),
      kind,
      bytes: getU64(view, at + 16),
      operations: getU64(view, at + 24),
    };
  }
}

/** Returns the code offsets of the sites that allocate, free and return, by key; empty if the site is unknown. */
export function readPlaces(tables: WasteTables): Map<number, number[]> {
  const { view, description } = tables;
  const places = new Map<number, number[]>();
  if (description.engine !== "full") return places;
  eachIndexEntry(view, description.index, (at) => {
    const field = (distance: number): number => view.getUint32(at + distance, true);
    const [kind, first, offset] = [IndexEntry.kind, IndexEntry.first, IndexEntry.second].map(field);
    const key = field(IndexEntry.value);
    if (kind === IndexKind.path) places.set(key, readPathPlaces(tables, first));
    else if (kind === IndexKind.place)
      places.set(key, offset === 0 ? [] : [offset, ...callersOf(tables, first)]);
  });
  return places;
}

type Paths = ReadonlyMap<number, string>;

/** Returns pairs of a wasted access and the access or end of memory that made it so. */
export function readPairs(
  tables: WasteTables,
  storePaths: Paths,
  loadPaths: Paths,
  places: ReadonlyMap<number, number[]>,
): PairFigures[] {
  const pairs: PairFigures[] = [];
  for (const { first, second, kind: kindNumber, bytes, operations } of entriesOf(tables)) {
    const kind = PAIR_KINDS.get(kindNumber);
    if (kind === undefined) continue;
    const paths = kind === "redundant" ? loadPaths : storePaths;
    const isEnd = kind === "deallocated" || kind === "returned";
    const place = isEnd ? places.get(second) : undefined;
    pairs.push({
      kind,
      first: paths.get(first),
      origin: kind !== "silent" ? undefined : first === 0 ? "zero" : first === KEY_MASK ? "init" : undefined,
      second: isEnd ? undefined : paths.get(second),
      end: place?.length === 0 ? undefined : place,
      bytes,
      operations,
    });
  }
  return pairs;
}

export function readReallocations(
  tables: WasteTables,
  places: ReadonlyMap<number, number[]>,
): ReallocationFigures[] {
  const found = new Map<number, ReallocationFigures>();
  for (const { first: place, second: change, kind, bytes, operations } of entriesOf(tables)) {
    if (kind !== Pair.reallocated) continue;
    const path = places.get(place) ?? [];
    const figures = entryOf(found, place, () => ({ path, calls: 0, grown: 0, moves: 0, moved: 0 }));
    if (change === GREW) Object.assign(figures, { grown: bytes, calls: operations });
    else if (change === MOVED) Object.assign(figures, { moved: bytes, moves: operations });
  }
  return [...found.values()];
}

/** Bytes by the key of a load or store, by the allocation site whose blocks they were in. */
type SiteBytes = ReadonlyMap<number, ReadonlyMap<number, number>>;

/**
 * Returns the accesses to the blocks of each allocation site: stores whose bytes became dead there, all stores, all
 * loads.
 */
export function readSitePairs(tables: WasteTables): Record<"dead" | "written" | "read", SiteBytes> {
  const accesses = { dead: new Map(), written: new Map(), read: new Map() };
  const kinds = new Map<number, Map<number, Map<number, number>>>([
    [Pair.into, accesses.dead],
    [Pair.writesInto, accesses.written],
    [Pair.readsFrom, accesses.read],
  ]);
  for (const { first: key, second: site, kind, bytes } of entriesOf(tables)) {
    const into = kinds.get(kind);
    if (into === undefined) continue;
    const siteBytes = into.get(site) ?? new Map<number, number>();
    into.set(site, siteBytes.set(key, bytes));
  }
  return accesses;
}
