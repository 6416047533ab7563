import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { getU64 } from "../../../../ground/bytes/numbers.ts";
import { NODE_BYTES, Node } from "../../../contexts/layout.ts";
import {
  CARRIED_ON,
  Control,
  GRANULE_SHIFT,
  GranuleFate,
  MOST_GRANULES,
  PATH_BLOCKS_BYTES,
  PATH_BYTES,
  Path,
  PathBlocks,
  Store,
} from "../layout.ts";
import { READ_BYTE, ShadowIds, SITE_COUNTERS_BYTES, SITE_EVENTS } from "../memory-plan.ts";
import type { SiteTable } from "../site-table.ts";
import { controlWord, coveredNow, hasBit, type WasteTables } from "./tables.ts";

/** Offset of the count in the records of stores and loads. */
const COUNT = 0;

/** Site in one context, with the address of its record. */
export interface SiteInContext {
  key: number;
  site: number;
  path: number[];
  at: number;
  /**
   * Runs of inline code, besides those in the record; and how many of them were silent or, for loads, found unread
   * bytes.
   */
  runs: number;
  events: number;
}

export function pathKey(path: readonly number[]): string {
  return path.join();
}

/** Returns the code offsets of the calls that lead to a node of the calling context tree, innermost first. */
export function callersOf({ view, description: { nodes } }: WasteTables, from: number): number[] {
  const path: number[] = [];
  for (let node = from; node !== 0; ) {
    const at = nodes + node * NODE_BYTES;
    path.push(view.getUint32(at + Node.place, true));
    node = view.getUint32(at + Node.parent, true);
  }
  return path;
}

/** Returns the keys with their sites and paths, in the order of the sites. Not for records in frames. */
export function readSitePaths(
  tables: WasteTables,
  sites: SiteTable,
): Record<"stores" | "loads", SiteInContext[]> {
  const { description } = tables;
  const isSummary = description.engine === "brief";
  const read = (access: "store" | "load", firstKey: number): SiteInContext[] => {
    const [table, shift, used] =
      access === "store"
        ? [description.stores, description.recordShift, Control.storeKeys]
        : [description.loads, description.loadShift, Control.loadKeys];
    const paths: SiteInContext[] = [];
    const countsOf = isSummary ? inlineCounts(tables) : undefined;
    const siteOf = description.contexts ? new Int32Array(sites[`${access}s`] + 1) : undefined;
    for (let site = 0; site < sites.length; site++) {
      const counts = countsOf?.(site);
      const number = sites[access][site];
      if (number === 0) continue;
      if (siteOf !== undefined) siteOf[number] = site;
      const key = number - 1 + firstKey;
      const { runs, events } = counts ?? NO_COUNTS;
      const at = table + key * 2 ** shift;
      // Most sites of a large module never run. In precise mode they are kept: they may be writers from before a reset.
      if (isSummary && runs === 0 && getU64(tables.view, at + COUNT) === 0) continue;
      paths.push({ key, site, path: [sites.offset[site]], at, runs, events });
    }
    if (siteOf === undefined) return paths;
    const last = sites[`${access}s`] + controlWord(tables, used);
    for (let key = sites[`${access}s`] + 1; key <= last; key++) {
      const at = table + key * 2 ** shift;
      const number = tables.view.getUint32(at + Store.site, true);
      if (number === 0 || number >= siteOf.length) continue;
      const site = siteOf[number];
      const callers = callersOf(tables, tables.view.getUint32(at + Store.node, true));
      paths.push({ key, site, path: [sites.offset[site], ...callers], at, ...NO_COUNTS });
    }
    return paths;
  };
  return { stores: read("store", isSummary ? ShadowIds.first : 1), loads: read("load", 1) };
}

const NO_COUNTS = { runs: 0, events: 0 };

/** Returns the counts of inline code, for sites in ascending order. A block's runs are counted at its first site. */
function inlineCounts({ view, description }: WasteTables): (site: number) => typeof NO_COUNTS {
  const inline = bytesOfBase64(description.inline);
  const leaders = bytesOfBase64(description.leaders);
  let ofBlock = 0;
  return (site) => {
    if (!hasBit(inline, site)) return NO_COUNTS;
    const at = description.counters + site * SITE_COUNTERS_BYTES;
    if (hasBit(leaders, site)) ofBlock = getU64(view, at);
    return { runs: ofBlock, events: getU64(view, at + SITE_EVENTS) };
  };
}

export interface PathBlocksFigures {
  /** Code offsets, innermost first; empty if the host allocated directly. */
  path: number[];
  blocks: number;
  bytes: number;
  size: number;
  smallest: number;
  unread: number;
  unreadBytes: number;
  /** Bytes of granules that were stored to and never read, in all blocks. */
  neverRead: number;
  fates: Uint8Array;
  /** True if blocks have more granules than these. */
  tail: boolean;
}

export const GRANULE_BYTES = 2 ** GRANULE_SHIFT;

/** Returns the blocks of an instance. Live blocks end now; with `exitVisible` the host reads them then. */
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

export function readPathPlaces({ view, description }: WasteTables, path: number): number[] {
  const at = description.paths + path * PATH_BYTES;
  return Array.from({ length: view.getUint32(at + Path.frames, true) }, (_, i) =>
    view.getUint32(at + Path.places + i * 4, true),
  );
}

function readPath(tables: WasteTables, path: number): PathBlocksFigures {
  const { view, description } = tables;
  const at = description.pathBlocks + path * PATH_BLOCKS_BYTES;
  const count = (field: number): number => getU64(view, at + field);
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

/** Adds a live block to the figures, as the runtime does when a block is released. */
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
  // Two words of the shadow memory per granule.
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
/** Word of two read bytes; and words whose two bytes have one fate: read, or never stored to. */
const ALL_READ = 0xffffffff;
const PLAIN_WORDS: ReadonlySet<number> = new Set([ALL_READ, 0, ShadowIds.invalid * 0x10001]);

/** Returns whether any of the first `bytes` bytes was stored to, by their ids; "unread" if one of them is unread. */
function fateOf(ids: readonly number[], bytes: number): boolean | "unread" {
  const stored = ids.slice(0, bytes).filter((id) => id !== ShadowIds.invalid && id !== 0);
  return stored.some((id) => id !== READ_BYTE) ? "unread" : stored.length > 0;
}

function growFates(figures: PathBlocksFigures, wantedGranules: number): void {
  const granules = Math.min(wantedGranules, MOST_GRANULES);
  figures.tail = granules < wantedGranules;
  if (granules <= figures.fates.length) return;
  const fates = new Uint8Array(granules);
  fates.set(figures.fates);
  figures.fates = fates;
}

/** Adds up the blocks of several instances. Most bytes come first. */
export function mergePathBlocks(instances: readonly (readonly PathBlocksFigures[])[]): PathBlocksFigures[] {
  const merged = new Map<string, PathBlocksFigures>();
  for (const figures of instances.flat()) {
    const key = figures.path.join();
    const earlier = merged.get(key);
    merged.set(key, earlier === undefined ? figures : addBlocks(earlier, figures));
  }
  return [...merged.values()].sort((a, b) => b.bytes - a.bytes || comparePaths(a.path, b.path));
}

function addBlocks(a: PathBlocksFigures, b: PathBlocksFigures): PathBlocksFigures {
  const fates = new Uint8Array(Math.max(a.fates.length, b.fates.length));
  for (const added of [a.fates, b.fates])
    added.forEach((fate, i) => {
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
