import type { BlockType } from "../../../../profile/model/block-type.ts";
import type { WasteField, WasteIp, WasteObjects } from "../../../../profile/model/waste/waste.ts";
import type { TypeAt } from "../../session.ts";
import { OFFSETS } from "../layout.ts";
import { typeOfBlocks } from "./blocks-of-paths.ts";
import { COLUMNS, Column, type ObjectFigures } from "./read-objects.ts";
import { pathKey } from "./site-paths.ts";

/** Adds up the sites of several instances, most dead bytes first. */
export function mergeObjects(instances: readonly (readonly ObjectFigures[])[]): ObjectFigures[] {
  const merged = new Map<string, ObjectFigures>();
  for (const figures of instances.flat()) {
    const key = pathKey(figures.path);
    const known = merged.get(key);
    merged.set(key, known === undefined ? figures : addSites(known, figures));
  }
  return [...merged.values()].sort((a, b) => b.dead - a.dead || b.bytes - a.bytes);
}

function addSites(a: ObjectFigures, b: ObjectFigures): ObjectFigures {
  return {
    path: a.path,
    objects: a.objects + b.objects,
    bytes: a.bytes + b.bytes,
    size: Math.max(a.size, b.size),
    smallest: Math.min(a.smallest, b.smallest),
    peak: a.peak + b.peak,
    dead: a.dead + b.dead,
    counts: addCounts(a.counts, b.counts),
    ended: a.ended + b.ended,
    usefulLifetime: a.usefulLifetime + b.usefulLifetime,
    lifetime: a.lifetime + b.lifetime,
    touched: a.touched + b.touched,
    span: a.span + b.span,
    deadBy: addPaths(a.deadBy, b.deadBy),
    writtenBy: addPaths(a.writtenBy, b.writtenBy),
    readBy: addPaths(a.readBy, b.readBy),
  };
}

function addPaths(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): Map<string, number> {
  const sums = new Map(a);
  for (const [by, bytes] of b) sums.set(by, (sums.get(by) ?? 0) + bytes);
  return sums;
}

function addCounts(a: Float64Array, b: Float64Array): Float64Array {
  const sums = new Float64Array(Math.max(a.length, b.length));
  for (const some of [a, b])
    some.forEach((count, i) => {
      sums[i] += count;
    });
  return sums;
}

/** Where the blocks of all paths that end in one call of the allocator are divided, so that what happened to parts can be added up. */
export interface BlockParts {
  counts: Float64Array;
  /** Offsets at which the blocks of a path end. */
  ends: Set<number>;
}

/** The parts of the blocks of each call of the allocator. */
export function blockParts(sites: readonly ObjectFigures[]): Map<number | undefined, BlockParts> {
  const parts = new Map<number | undefined, BlockParts>();
  for (const { path, counts } of sites) {
    const known = parts.get(path[0]);
    const ends = (known?.ends ?? new Set()).add(counts.length / COLUMNS);
    parts.set(path[0], { ends, counts: known === undefined ? counts : addCounts(known.counts, counts) });
  }
  return parts;
}

/** A site as the file has it. */
export function objectsOf(
  figures: ObjectFigures,
  ips: WasteIp[],
  typeAt: TypeAt | undefined,
  parts: BlockParts,
): WasteObjects {
  const { objects, bytes, size, smallest, peak, dead, counts, ended } = figures;
  const type = typeOfBlocks(figures, typeAt);
  return {
    ips,
    objects,
    bytes,
    peak,
    size,
    varies: smallest !== size,
    bytesDead: dead,
    ...(type === undefined ? {} : { type: { name: type.name, size: type.size, by: type.by } }),
    meanLifetime: mean(figures.lifetime, ended),
    usefulLifetime: mean(figures.usefulLifetime, ended),
    usage: mean(figures.touched, bytes),
    usageSpan: mean(figures.span, bytes),
    ...accessFigures(counts, size, bytes),
    fields:
      type === undefined ? fieldsOf(counts, parts) : membersOf(counts.subarray(0, OFFSETS * COLUMNS), type),
    ...(counts.length / COLUMNS < size ? { tail: true } : {}),
  };
}

/** Ratios of bytes accessed to bytes allocated, and offsets that are accessed in one way only. */
function accessFigures(
  counts: Float64Array,
  size: number,
  bytes: number,
): Pick<WasteObjects, "ratioRead" | "ratioWritten" | "writeOnlyBytes" | "holeBytes" | "readUnwrittenBytes"> {
  const figures = { writeOnlyBytes: 0, holeBytes: 0, readUnwrittenBytes: 0 };
  let [allReads, allWrites] = [0, 0];
  for (let offset = 0; offset * COLUMNS < counts.length; offset++) {
    const reads = counts[offset * COLUMNS + Column.reads];
    const writes = counts[offset * COLUMNS + Column.writes];
    allReads += reads;
    allWrites += writes;
    // The last entry has all offsets behind.
    if (offset === OFFSETS && size > OFFSETS) continue;
    if (reads === 0 && writes === 0) figures.holeBytes++;
    else if (reads === 0) figures.writeOnlyBytes++;
    else if (writes === 0) figures.readUnwrittenBytes++;
  }
  return { ratioRead: mean(allReads, bytes), ratioWritten: mean(allWrites, bytes), ...figures };
}

function mean(sum: number, count: number): number {
  return count === 0 ? 0 : Math.round((sum / count) * 1e6) / 1e6;
}

/** Counts of `size` offsets from `offset` on, in every element of `step` bytes. */
function fieldAt(counts: Float64Array, offset: number, size: number, step: number): WasteField {
  const sums = new Float64Array(COLUMNS);
  let most = 0;
  for (let at = offset; at < offset + size; at++) {
    let accesses = 0;
    for (let from = at; from * COLUMNS < counts.length; from += step) {
      for (let column = 0; column < COLUMNS; column++) sums[column] += counts[from * COLUMNS + column];
      accesses += counts[from * COLUMNS + Column.reads] + counts[from * COLUMNS + Column.writes];
    }
    most = Math.max(most, accesses);
  }
  const [overwritten, deallocated, exit] = [
    sums[Column.overwritten],
    sums[Column.deallocated],
    sums[Column.exit],
  ];
  return {
    offset,
    size,
    reads: sums[Column.reads],
    writes: sums[Column.writes],
    dead: overwritten + deallocated + exit,
    overwritten,
    deallocated,
    exit,
    silent: sums[Column.silent],
    accesses: most,
  };
}

/** Maximal runs of equal counts in all parts, cut at natural alignment: 16, 8, 4, 2 or 1 bytes. */
export function fieldsOf(
  counts: Float64Array,
  parts: BlockParts = { counts, ends: new Set() },
): WasteField[] {
  const length = counts.length / COLUMNS;
  const all = parts.counts;
  const equal = (a: number, b: number): boolean =>
    all[a * COLUMNS] === all[b * COLUMNS] && all[a * COLUMNS + 1] === all[b * COLUMNS + 1];
  const fields: WasteField[] = [];
  for (let offset = 0; offset < length; ) {
    const isHole = all[offset * COLUMNS] === 0 && all[offset * COLUMNS + 1] === 0;
    let end = offset + 1;
    while (end < length && equal(offset, end) && !parts.ends.has(end)) end++;
    let size = end - offset;
    if (!isHole) {
      size = 16;
      while (size > 1 && (offset % size !== 0 || offset + size > end)) size /= 2;
    }
    fields.push(fieldAt(counts, offset, size, length));
    offset += size;
  }
  return fields;
}

/** One field per member, over all elements that the offsets told apart hold; gaps between members have no name. */
function membersOf(counts: Float64Array, type: BlockType): WasteField[] {
  const fields: WasteField[] = [];
  let end = 0;
  const gapTo = (offset: number): void => {
    if (offset > end) fields.push(fieldAt(counts, end, offset - end, type.size));
  };
  for (const member of type.members) {
    gapTo(member.offset);
    const field = fieldAt(counts, member.offset, member.size, type.size);
    fields.push({ ...field, name: member.name, type: member.type });
    end = Math.max(end, member.offset + member.size);
  }
  gapTo(type.size);
  return fields;
}
