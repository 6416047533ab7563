import { getU64 } from "../../../../ground/bytes/numbers.ts";
import {
  BLOCK_BYTES,
  Block,
  BlockFlag,
  Control,
  OBJECT_SITE_BYTES,
  OBJECT_SITE_HEADER_BYTES,
  ObjectSite,
  OFFSET_BYTES,
  OFFSETS,
  OffsetCount,
} from "../layout.ts";
import { INVALID, KEY_MASK, readSitePairs, UNREAD, type WasteWords, wordsOf } from "./read-pairs.ts";
import { controlWord, type WasteTables } from "./tables.ts";

/** Figures of the blocks of one allocation site. */
export interface ObjectFigures {
  /** Code offsets, innermost first; empty if the site is unknown. */
  path: number[];
  objects: number;
  bytes: number;
  size: number;
  smallest: number;
  peak: number;
  dead: number;
  /**
   * Counts per offset, in the order of `Column`. The last entry has all offsets after those with counts of their own.
   */
  counts: Float64Array;
  /** Ended blocks, including those that are live now, and sums over them. */
  ended: number;
  usefulLifetime: number;
  lifetime: number;
  touched: number;
  span: number;
  deadBy: Map<string, number>;
  writtenBy: ReadonlyMap<string, number>;
  readBy: ReadonlyMap<string, number>;
}

export const Column = { reads: 0, writes: 1, overwritten: 2, deallocated: 3, exit: 4, silent: 5 } as const;
export const COLUMNS = 6;

const ACCESSED = BlockFlag.read | BlockFlag.written;
/** Flags that count as read: read, or moved by a reallocation. As written: written, or moved here by a reallocation. */
const READ = BlockFlag.read | BlockFlag.carriedOn;
const WRITTEN = BlockFlag.written | BlockFlag.carriedIn;

interface ObjectSources {
  tables: WasteTables;
  words: WasteWords;
  /** Code offsets of sites, and paths of stores and loads, by key. */
  places: ReadonlyMap<number, number[]>;
  paths: AccessPaths;
  /** True if bytes that are unread now count as read by the host. */
  exitVisible: boolean;
}

interface AccessPaths {
  readonly stores: ReadonlyMap<number, string>;
  readonly loads: ReadonlyMap<number, string>;
}

/** Returns the allocation sites of an instance. Live blocks end now; with `exitVisible` the host reads them then. */
export function readObjects(
  tables: WasteTables,
  places: ReadonlyMap<number, number[]>,
  paths: AccessPaths,
  exitVisible: boolean,
): ObjectFigures[] {
  const { view, description } = tables;
  if (description.siteCapacity === 0) return [];
  const sources = { tables, words: wordsOf(tables), places, paths, exitVisible };
  const pairs = readSitePairs(tables);
  const sites = new Map<number, ObjectFigures>();
  for (let i = 1; i < description.siteCapacity; i++) {
    const at = description.sites + i * OBJECT_SITE_BYTES;
    if (view.getUint32(at, true) === 0) continue;
    sites.set(
      i,
      readSite(sources, at, {
        dead: pairs.dead.get(i),
        written: pairs.written.get(i),
        read: pairs.read.get(i),
      }),
    );
  }
  const blocks = controlWord(tables, Control.blockNext);
  for (let block = 1; block <= blocks; block++) {
    const at = description.blocks + block * BLOCK_BYTES;
    const site = sites.get(view.getUint32(at + Block.site, true));
    if ((view.getUint32(at + Block.flags, true) & BlockFlag.live) === 0 || site === undefined) continue;
    endBlock(sources, at, site);
  }
  return [...sites.values()];
}

type KeyBytes = ReadonlyMap<number, number> | undefined;

function readSite(
  { tables: { view }, places, paths }: ObjectSources,
  at: number,
  by: { readonly dead: KeyBytes; readonly written: KeyBytes; readonly read: KeyBytes },
): ObjectFigures {
  const size = view.getUint32(at + ObjectSite.size, true);
  const count = (field: number): number => getU64(view, at + field);
  return {
    path: places.get(view.getUint32(at, true)) ?? [],
    objects: count(ObjectSite.objects),
    bytes: count(ObjectSite.bytes),
    size,
    smallest: view.getUint32(at + ObjectSite.smallest, true),
    peak: count(ObjectSite.peak),
    dead: count(ObjectSite.dead),
    counts: readOffsets(view, at + OBJECT_SITE_HEADER_BYTES, size),
    ended: count(ObjectSite.ended),
    usefulLifetime: view.getFloat64(at + ObjectSite.usefulLifetime, true),
    lifetime: count(ObjectSite.lifetime),
    touched: count(ObjectSite.touched),
    span: count(ObjectSite.span),
    deadBy: byPath(by.dead, paths.stores),
    writtenBy: byPath(by.written, paths.stores),
    readBy: byPath(by.read, paths.loads),
  };
}

function byPath(bytes: KeyBytes, paths: ReadonlyMap<number, string>): Map<string, number> {
  return new Map([...(bytes ?? [])].map(([key, count]) => [paths.get(key) ?? "", count]));
}

function readOffsets(view: DataView, from: number, size: number): Float64Array {
  const counts = new Float64Array((Math.min(size, OFFSETS) + (size > OFFSETS ? 1 : 0)) * COLUMNS);
  for (let offset = 0; offset * COLUMNS < counts.length; offset++)
    for (const [name, field] of Object.entries(OffsetCount))
      counts[offset * COLUMNS + Column[name as keyof typeof OffsetCount]] = view.getUint32(
        from + offset * OFFSET_BYTES + field,
        true,
      );
  return counts;
}

function endBlock(
  { tables, words: { writers, readers }, paths, exitVisible }: ObjectSources,
  at: number,
  site: ObjectFigures,
): void {
  const { view, description } = tables;
  const address = view.getUint32(at, true);
  const size = view.getUint32(at + Block.size, true);
  const flags = view.getUint32(at + Block.flags, true);
  const zeroedBy = view.getUint32(at + Block.zeroedBy, true);
  const born = getU64(view, at + Block.born);
  const lifetime = getU64(view, description.control + Control.clock) - born;
  site.ended++;
  site.lifetime += lifetime;
  if ((flags & ACCESSED) !== 0 && lifetime > 0)
    site.usefulLifetime += (getU64(view, at + Block.last) - getU64(view, at + Block.first)) / lifetime;
  let touched = 0;
  for (let i = 0; i < size; i++) {
    const word = writers[address + i];
    const [state, key] = [word >>> 30, word & KEY_MASK];
    const isUnread = state === UNREAD && key !== 0 && key !== KEY_MASK;
    const isWritten = state !== INVALID && key !== 0 && key !== KEY_MASK && !(isUnread && key === zeroedBy);
    if (isWritten || readers[address + i] !== 0) touched++;
    if (!isUnread) continue;
    const column = Math.min(i, site.counts.length / COLUMNS - 1) * COLUMNS;
    site.counts[column + (exitVisible ? Column.reads : Column.exit)]++;
    if (exitVisible) continue;
    site.dead++;
    const by = paths.stores.get(key) ?? "";
    site.deadBy.set(by, (site.deadBy.get(by) ?? 0) + 1);
  }
  if ((flags & READ) === 0 || (flags & WRITTEN) === 0) return;
  site.touched += touched;
  if ((flags & ACCESSED) !== 0)
    site.span += view.getUint32(at + Block.high, true) - view.getUint32(at + Block.low, true);
}
