import { BLOCK_BYTES, OFFSET_BYTES, OFFSETS, SITE_BYTES, SITE_HEADER_BYTES } from "../../index.ts";
import type { WasteToolLayout, WasteWords } from "./read-waste.ts";
import { ControlField, readCount } from "./waste-offsets.ts";

/** What happened to the blocks of one place that allocates. */
export interface ObjectFigures {
  /** Code offsets, innermost first; empty where the place is not known. */
  path: number[];
  objects: number;
  bytes: number;
  /** Largest and smallest size of its blocks. */
  size: number;
  smallest: number;
  peak: number;
  dead: number;
  /** Per offset, in the order of `Column`; the last entry has what lies behind the offsets that are told apart. */
  counts: Float64Array;
  /** Blocks that ended, those alive now included, and sums over them. */
  ended: number;
  usefulLifetime: number;
  lifetime: number;
  touched: number;
  span: number;
  /** Dead bytes by the path of the store. */
  deadBy: Map<string, number>;
}

/** Counts per offset. */
export const Column = { reads: 0, writes: 1, overwritten: 2, deallocated: 3, exit: 4, silent: 5 } as const;
export const COLUMNS = 6;

// Mirrors tools/waste/assembly/objects.ts; test/tools/waste/waste-layout.test.ts compares them.
export const SiteField = {
  site: 0,
  size: 4,
  objects: 8,
  bytes: 16,
  dead: 24,
  smallest: 36,
  peak: 48,
  ended: 56,
  usefulLifetime: 64,
  touched: 72,
  span: 80,
  lifetime: 88,
} as const;
export const BlockField = {
  address: 0,
  size: 4,
  site: 8,
  flags: 16,
  zeroedBy: 20,
  born: 24,
  first: 32,
  last: 40,
  low: 48,
  high: 52,
} as const;
const BLOCK_NEXT = 44;
const ACCESSED = 3;
const LIVE = 4;
/** Read, or carried on by a reallocation; written, or brought in by one. */
const READ = 1 | 8;
const WRITTEN = 2 | 16;
const KEY_MASK = 0x3fffffff;
const UNREAD = 1;
const INVALID = 3;

/** The tool's memory, what lies where in it, and its tables with a word per byte of the program's memory. */
export interface ObjectTables {
  view: DataView;
  layout: WasteToolLayout;
  words: WasteWords;
}

/** The allocation sites of an instance. Blocks that are alive end now; `exitVisible`: the host reads them then. */
export function readObjects(
  tables: ObjectTables,
  places: ReadonlyMap<number, number[]>,
  deadInto: ReadonlyMap<number, ReadonlyMap<number, number>>,
  storePaths: ReadonlyMap<number, string>,
  exitVisible: boolean,
): ObjectFigures[] {
  const { view, layout } = tables;
  const sites = new Map<number, ObjectFigures>();
  for (let i = 1; i < layout.siteCapacity; i++) {
    const at = layout.sites + i * SITE_BYTES;
    const site = view.getUint32(at, true);
    if (site === 0) continue;
    const size = view.getUint32(at + SiteField.size, true);
    const told = Math.min(size, OFFSETS);
    const counts = new Float64Array((told + (size > OFFSETS ? 1 : 0)) * COLUMNS);
    for (let offset = 0; offset * COLUMNS < counts.length; offset++) {
      const from = at + SITE_HEADER_BYTES + offset * OFFSET_BYTES;
      const to = offset * COLUMNS;
      const { reads, writes, overwritten, deallocated, silent } = Column;
      [reads, writes, overwritten, deallocated, silent].forEach((column, j) => {
        counts[to + column] = view.getUint32(from + j * 4, true);
      });
    }
    const u64 = (field: number): number => readCount(view, at + field);
    sites.set(i, {
      path: places.get(site) ?? [],
      objects: u64(SiteField.objects),
      bytes: u64(SiteField.bytes),
      size,
      smallest: view.getUint32(at + SiteField.smallest, true),
      peak: u64(SiteField.peak),
      dead: u64(SiteField.dead),
      counts,
      ended: u64(SiteField.ended),
      usefulLifetime: view.getFloat64(at + SiteField.usefulLifetime, true),
      lifetime: u64(SiteField.lifetime),
      touched: u64(SiteField.touched),
      span: u64(SiteField.span),
      deadBy: new Map([...(deadInto.get(i) ?? [])].map(([key, bytes]) => [storePaths.get(key) ?? "", bytes])),
    });
  }
  const blocks = view.getUint32(layout.control + BLOCK_NEXT, true);
  for (let block = 1; block <= blocks; block++) {
    const at = layout.blocks + block * BLOCK_BYTES;
    const site = sites.get(view.getUint32(at + BlockField.site, true));
    if ((view.getUint32(at + BlockField.flags, true) & LIVE) === 0 || site === undefined) continue;
    endBlock(tables, at, site, storePaths, exitVisible);
  }
  return [...sites.values()];
}

function endBlock(
  { view, layout, words: { writers, readers } }: ObjectTables,
  at: number,
  site: ObjectFigures,
  storePaths: ReadonlyMap<number, string>,
  exitVisible: boolean,
): void {
  const address = view.getUint32(at, true);
  const size = view.getUint32(at + BlockField.size, true);
  const flags = view.getUint32(at + BlockField.flags, true);
  const zeroedBy = view.getUint32(at + BlockField.zeroedBy, true);
  const born = readCount(view, at + BlockField.born);
  const lifetime = readCount(view, layout.control + ControlField.clock) - born;
  site.ended++;
  site.lifetime += lifetime;
  if ((flags & ACCESSED) !== 0 && lifetime > 0)
    site.usefulLifetime +=
      (readCount(view, at + BlockField.last) - readCount(view, at + BlockField.first)) / lifetime;
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
    const by = storePaths.get(key) ?? "";
    site.deadBy.set(by, (site.deadBy.get(by) ?? 0) + 1);
  }
  if ((flags & READ) === 0 || (flags & WRITTEN) === 0) return;
  site.touched += touched;
  if ((flags & ACCESSED) !== 0)
    site.span += view.getUint32(at + BlockField.high, true) - view.getUint32(at + BlockField.low, true);
}
