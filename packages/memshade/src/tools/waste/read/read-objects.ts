import type { WasteDescription } from "../description.ts";
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
import { readCount } from "./tables.ts";
import { INVALID, KEY_MASK, UNREAD, type WasteWords } from "./written-bytes.ts";

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

const ACCESSED = BlockFlag.read | BlockFlag.written;
/** Read, or carried on by a reallocation; written, or brought in by one. */
const READ = BlockFlag.read | BlockFlag.carriedOn;
const WRITTEN = BlockFlag.written | BlockFlag.carriedIn;

/** The tool's memory, what lies where in it, and its tables with a word per byte of the program's memory. */
export interface ObjectTables {
  view: DataView;
  layout: WasteDescription;
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
    const at = layout.sites + i * OBJECT_SITE_BYTES;
    const site = view.getUint32(at, true);
    if (site === 0) continue;
    const size = view.getUint32(at + ObjectSite.size, true);
    const told = Math.min(size, OFFSETS);
    const counts = new Float64Array((told + (size > OFFSETS ? 1 : 0)) * COLUMNS);
    for (let offset = 0; offset * COLUMNS < counts.length; offset++) {
      const from = at + OBJECT_SITE_HEADER_BYTES + offset * OFFSET_BYTES;
      const to = offset * COLUMNS;
      for (const [name, field] of Object.entries(OffsetCount))
        counts[to + Column[name as keyof typeof OffsetCount]] = view.getUint32(from + field, true);
    }
    const u64 = (field: number): number => readCount(view, at + field);
    sites.set(i, {
      path: places.get(site) ?? [],
      objects: u64(ObjectSite.objects),
      bytes: u64(ObjectSite.bytes),
      size,
      smallest: view.getUint32(at + ObjectSite.smallest, true),
      peak: u64(ObjectSite.peak),
      dead: u64(ObjectSite.dead),
      counts,
      ended: u64(ObjectSite.ended),
      usefulLifetime: view.getFloat64(at + ObjectSite.usefulLifetime, true),
      lifetime: u64(ObjectSite.lifetime),
      touched: u64(ObjectSite.touched),
      span: u64(ObjectSite.span),
      deadBy: new Map([...(deadInto.get(i) ?? [])].map(([key, bytes]) => [storePaths.get(key) ?? "", bytes])),
    });
  }
  const blocks = view.getUint32(layout.control + Control.blockNext, true);
  for (let block = 1; block <= blocks; block++) {
    const at = layout.blocks + block * BLOCK_BYTES;
    const site = sites.get(view.getUint32(at + Block.site, true));
    if ((view.getUint32(at + Block.flags, true) & BlockFlag.live) === 0 || site === undefined) continue;
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
  const size = view.getUint32(at + Block.size, true);
  const flags = view.getUint32(at + Block.flags, true);
  const zeroedBy = view.getUint32(at + Block.zeroedBy, true);
  const born = readCount(view, at + Block.born);
  const lifetime = readCount(view, layout.control + Control.clock) - born;
  site.ended++;
  site.lifetime += lifetime;
  if ((flags & ACCESSED) !== 0 && lifetime > 0)
    site.usefulLifetime += (readCount(view, at + Block.last) - readCount(view, at + Block.first)) / lifetime;
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
    site.span += view.getUint32(at + Block.high, true) - view.getUint32(at + Block.low, true);
}
