import {
  CARRIED_ON,
  GRANULE_SHIFT,
  GranuleFate,
  MOST_GRANULES,
  PATH_BLOCKS_BYTES,
  PATH_BYTES,
  Path,
  PathBlocks,
} from "../layout.ts";
import { READ_BYTE, ShadowIds } from "../memory-plan.ts";
import { coveredNow, readCount, type WasteTables } from "./tables.ts";

/** Blocks that calls on one path have asked for. */
export interface PathBlocksFigures {
  /** Code offsets, innermost first; empty where the host asked itself. */
  path: number[];
  blocks: number;
  bytes: number;
  size: number;
  smallest: number;
  /** Blocks that were stored to and never read, and their bytes. */
  unread: number;
  unreadBytes: number;
  /** Bytes that were stored and never read, of all blocks, in pieces of `GRANULE_BYTES`. */
  neverRead: number;
  /** `GranuleFate`, per piece. */
  fates: Uint8Array;
  /** What lies behind is not told apart. */
  tail: boolean;
}

export const GRANULE_BYTES = 2 ** GRANULE_SHIFT;

/** The blocks of an instance. Those that are alive end now; `exitVisible`: the host reads them then. */
export function readPathBlocks(tables: WasteTables, exitVisible: boolean): PathBlocksFigures[] {
  const { view, description } = tables;
  const { pathBlocks, pathCapacity } = description;
  if (!pathBlocks) return [];
  const found = new Map<number, PathBlocksFigures>();
  for (let path = 1; path < pathCapacity; path++) {
    if (view.getUint32(description.paths + path * PATH_BYTES + Path.hash, true) === 0) continue;
    found.set(path, readPath(tables, path));
  }
  forEachLive(tables, (address, size, path) => {
    const figures = found.get(path & ~CARRIED_ON);
    const carriedOn = (path & CARRIED_ON) !== 0;
    if (figures !== undefined) endBlock(tables, figures, { address, size, carriedOn, exitVisible });
  });
  return [...found.values()].filter(({ blocks }) => blocks > 0);
}

/** The calls of a path, innermost first. */
export function readPathPlaces({ view, description }: WasteTables, path: number): number[] {
  const at = description.paths + path * PATH_BYTES;
  return Array.from({ length: view.getUint32(at + Path.frames, true) }, (_, i) =>
    view.getUint32(at + Path.places + i * 4, true),
  );
}

function readPath(tables: WasteTables, path: number): PathBlocksFigures {
  const { view, description } = tables;
  const at = description.pathBlocks + path * PATH_BLOCKS_BYTES;
  const count = (field: number): number => readCount(view, at + field);
  const word = (field: number): number => view.getUint32(at + field, true);
  const size = word(PathBlocks.size);
  const granules = Math.min(granulesOf(size), word(PathBlocks.granules));
  return {
    path: readPathPlaces(tables, path),
    blocks: count(PathBlocks.blocks),
    bytes: count(PathBlocks.bytes),
    size,
    smallest: word(PathBlocks.smallest),
    unread: count(PathBlocks.unread),
    unreadBytes: count(PathBlocks.unreadBytes),
    neverRead: count(PathBlocks.unreadGranules),
    fates: new Uint8Array(view.buffer, word(PathBlocks.fates), granules).slice(),
    tail: granules < granulesOf(size),
  };
}

function granulesOf(size: number): number {
  return Math.ceil(size / GRANULE_BYTES);
}

function forEachLive(
  tables: WasteTables,
  visit: (address: number, size: number, path: number) => void,
): void {
  const { view, description } = tables;
  const pieces = coveredNow(tables) / 8;
  const paths = new Uint16Array(view.buffer, description.blockPath, pieces);
  const sizes = new Uint32Array(view.buffer, description.sizes, pieces);
  for (let i = 0; i < pieces; i++) if (paths[i] !== 0 && sizes[i] > 1) visit(i * 8, sizes[i] - 1, paths[i]);
}

/** As the runtime does when a block is released. */
function endBlock(
  { view, description }: WasteTables,
  figures: PathBlocksFigures,
  {
    address,
    size,
    carriedOn,
    exitVisible,
  }: { address: number; size: number; carriedOn: boolean; exitVisible: boolean },
): void {
  const granules = granulesOf(size);
  // Two words of the shadow for each.
  const words = new Uint32Array(view.buffer, address * 2, granules * 2);
  const marks = new Uint8Array(view.buffer, description.readMarks + address / GRANULE_BYTES, granules);
  if (!figures.tail) growFates(figures, granules);
  let [wasRead, wasWritten] = [carriedOn, false];
  for (let granule = 0; granule < granules; granule++) {
    const bytes = Math.min(GRANULE_BYTES, size - granule * GRANULE_BYTES);
    const words1 = words[granule * 2];
    const words2 = words[granule * 2 + 1];
    const isPlain = bytes === GRANULE_BYTES && words1 === words2 && PLAIN_WORDS.has(words1);
    const fate = isPlain
      ? words1 === ALL_READ
      : fateOf([words1 & MASK, words1 >>> 16, words2 & MASK, words2 >>> 16], bytes);
    const stored = fate !== false;
    const read = marks[granule] !== 0 || (exitVisible && fate === "unread");
    wasRead ||= read;
    wasWritten ||= stored;
    if (stored && !read && !carriedOn) figures.neverRead += GRANULE_BYTES;
    if (granule < figures.fates.length)
      figures.fates[granule] |= (read ? GranuleFate.read : 0) | (stored ? GranuleFate.written : 0);
  }
  figures.blocks++;
  figures.bytes += size;
  figures.size = Math.max(figures.size, size);
  figures.smallest = figures.smallest === 0 ? size : Math.min(figures.smallest, size);
  if (wasRead || !wasWritten) return;
  figures.unread++;
  figures.unreadBytes += size;
}

const MASK = 0xffff;
/** Two bytes that were read; and those that nobody has stored to. */
const ALL_READ = 0xffffffff;
const PLAIN_WORDS: ReadonlySet<number> = new Set([ALL_READ, 0, ShadowIds.invalid * 0x10001]);

/** Whether the first of some bytes were stored to, by their ids, and whether some of them are unread. */
function fateOf(ids: readonly number[], bytes: number): boolean | "unread" {
  const stored = ids.slice(0, bytes).filter((id) => id !== ShadowIds.invalid && id !== 0);
  return stored.some((id) => id !== READ_BYTE) ? "unread" : stored.length > 0;
}

/** Makes room for the fates of a larger block. */
function growFates(figures: PathBlocksFigures, all: number): void {
  const granules = Math.min(all, MOST_GRANULES);
  figures.tail = granules < all;
  if (granules <= figures.fates.length) return;
  const fates = new Uint8Array(granules);
  fates.set(figures.fates);
  figures.fates = fates;
}

/** Adds up the blocks of several instances, most bytes first. */
export function mergePathBlocks(instances: readonly (readonly PathBlocksFigures[])[]): PathBlocksFigures[] {
  const merged = new Map<string, PathBlocksFigures>();
  for (const figures of instances.flat()) {
    const key = figures.path.join();
    const known = merged.get(key);
    merged.set(key, known === undefined ? figures : addBlocks(known, figures));
  }
  return [...merged.values()].sort((a, b) => b.bytes - a.bytes || comparePaths(a.path, b.path));
}

function addBlocks(a: PathBlocksFigures, b: PathBlocksFigures): PathBlocksFigures {
  const fates = new Uint8Array(Math.max(a.fates.length, b.fates.length));
  for (const some of [a.fates, b.fates])
    some.forEach((fate, i) => {
      fates[i] |= fate;
    });
  return {
    path: a.path,
    blocks: a.blocks + b.blocks,
    bytes: a.bytes + b.bytes,
    size: Math.max(a.size, b.size),
    smallest: Math.min(a.smallest, b.smallest),
    unread: a.unread + b.unread,
    unreadBytes: a.unreadBytes + b.unreadBytes,
    neverRead: a.neverRead + b.neverRead,
    fates,
    tail: a.tail || b.tail,
  };
}

export function comparePaths(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
