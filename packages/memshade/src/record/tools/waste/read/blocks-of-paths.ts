import type { BlockMember, BlockType } from "../../../../profile/model/block-type.ts";
import {
  FEWEST_RECORDS,
  LIKELY_RULES,
  type WasteBlocks,
  type WasteField,
  type WasteIp,
  type WasteObjects,
  type WasteUnreadField,
} from "../../../../profile/model/waste.ts";
import type { TypeAt } from "../../session.ts";
import { GranuleFate, OFFSETS } from "../layout.ts";
import { COLUMNS, Column, type ObjectFigures } from "./read-objects.ts";
import { GRANULE_BYTES, type PathBlocksFigures, pathKey } from "./read-path-blocks.ts";

interface Fates {
  path: readonly number[];
  size: number;
  smallest: number;
  bytes: Uint8Array;
  /** True if the blocks have more bytes than these. */
  tail: boolean;
}

type TypesOnce = () => TypeAt | undefined;

/** Returns the blocks of a path for the file. `header`: bytes at their start that belong to a language's runtime. */
export function blocksOf(
  figures: PathBlocksFigures,
  ips: WasteIp[],
  typesOnce: TypesOnce,
  header: number,
): WasteBlocks {
  const { path, blocks, bytes, size, smallest, unread, unreadBytes, neverRead, fates, tail } = figures;
  const byteFates = new Uint8Array(Math.min(size, fates.length * GRANULE_BYTES));
  fates.forEach((fate, i) => {
    byteFates.fill(fate, i * GRANULE_BYTES, (i + 1) * GRANULE_BYTES);
  });
  return {
    ips,
    blocks,
    bytes,
    size,
    varies: smallest !== size,
    unread_blocks: unread,
    unread_bytes: unreadBytes,
    never_read: neverRead,
    ...unreadParts(
      { path, size, smallest, bytes: byteFates.fill(GranuleFate.read, 0, header), tail },
      typesOnce,
    ),
  };
}

/** Returns the blocks of a site of precise mode, which does not count whole unread blocks. */
export function blocksOfObjects(
  figures: ObjectFigures,
  ips: WasteIp[],
  typesOnce: TypesOnce,
  header: number,
): WasteBlocks {
  const { path, objects, bytes, size, smallest, counts } = figures;
  const length = counts.length / COLUMNS;
  const byteFates = Uint8Array.from(
    { length },
    (_, i) =>
      (counts[i * COLUMNS + Column.reads] > 0 ? GranuleFate.read : 0) |
      (counts[i * COLUMNS + Column.writes] > 0 ? GranuleFate.written : 0),
  );
  const isUnread =
    byteFates.some((fate) => fate === GranuleFate.written) &&
    byteFates.every((fate) => (fate & GranuleFate.read) === 0);
  const neverRead = byteFates.reduce((sum, fate, i) => {
    const writes = counts[i * COLUMNS + Column.writes];
    return fate === GranuleFate.written ? sum + Math.min(writes, objects) : sum;
  }, 0);
  return {
    ips,
    blocks: objects,
    bytes,
    size,
    varies: smallest !== size,
    unread_blocks: isUnread ? objects : 0,
    unread_bytes: isUnread ? bytes : 0,
    never_read: neverRead,
    ...unreadParts(
      {
        path,
        size,
        smallest,
        bytes: byteFates.slice(0, OFFSETS).fill(GranuleFate.read, 0, header),
        tail: size > OFFSETS,
      },
      typesOnce,
    ),
  };
}

const MOST_FIELDS = 64;

/**
 * Returns the type of blocks and its parts that are never read; an empty list if all of it is read. Walking an array of
 * numbers in steps leaves a period too, so no period is used if debug information is present but has no type with
 * members.
 */
function unreadParts(
  fates: Fates,
  typesOnce: TypesOnce,
): Pick<WasteBlocks, "type" | "element" | "padding" | "fields" | "followed"> | undefined {
  const { bytes, tail, size, smallest } = fates;
  const type = typeOfBlocks(fates, typesOnce());
  const followed = tail ? { followed: bytes.length } : {};
  if (type !== undefined) {
    if (tail && usedElements(bytes, type.size) < FEWEST_RECORDS) return undefined;
    // A vector that is made with its size copies its first element to the others, and so reads all of it.
    const isArray = bytes.length >= FEWEST_RECORDS * type.size;
    const element = folded(isArray ? bytes.subarray(type.size) : bytes, type.size);
    const fields = ownMembers(type.members)
      .filter(({ offset, size }) => !isAnyRead(element, offset, size))
      .map((member) => ({ ...member, written: isAnyWritten(element, member.offset, member.size) }));
    const { name, by } = type;
    const holes = LIKELY_RULES.has(by) ? 0 : savedByOrder(type);
    const padding = holes === 0 ? {} : { padding: holes };
    return { type: { name, size: type.size, by }, element: type.size, ...padding, fields, ...followed };
  }
  if (bytes.every(isRead)) return undefined;
  const period = periodOf(bytes);
  if (period === undefined ? tail || size !== smallest : typesOnce() !== undefined) return undefined;
  const fields = runsOf(folded(bytes, period ?? size));
  return fields.length > MOST_FIELDS ? undefined : { element: period ?? size, fields, ...followed };
}

/** Largest alignment that a member is assumed to need, bytes. */
const MOST_ALIGNED = 8;

/**
 * Returns the bytes of a type that its members would not need in the order of their sizes. A member that is a struct
 * itself stays as it is, with its own holes.
 */
export function savedByOrder({ size, members }: Pick<BlockType, "size" | "members">): number {
  const outer = new Map<string, { from: number; to: number; alignment: number }>();
  for (const { name, offset, size } of members) {
    let alignment = MOST_ALIGNED;
    while (((offset | size) & (alignment - 1)) !== 0) alignment /= 2;
    const key = name.split(".")[0]!;
    const { from, to, alignment: least } = outer.get(key) ?? { from: offset, to: 0, alignment: 1 };
    const largest = Math.max(least, alignment);
    outer.set(key, { from, to: Math.max(to, offset + size), alignment: largest });
  }
  const all = [...outer.values()];
  const alignment = all.reduce((most, member) => Math.max(most, member.alignment), 1);
  const used = all.reduce((sum, { from, to, alignment }) => sum + roundUp(to - from, alignment), 0);
  return Math.max(0, size - roundUp(used, alignment));
}

function roundUp(bytes: number, alignment: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/**
 * Counts the elements that were stored to or read. If only the start of an array has fates, these elements stand for
 * all.
 */
function usedElements(bytes: Uint8Array, size: number): number {
  let used = 0;
  for (let at = 0; at + size <= bytes.length; at += size)
    if (bytes.subarray(at, at + size).some((fate) => fate !== 0)) used++;
  return used;
}

/** Matches names reserved for libraries, and pointers to virtual tables. */
const RESERVED = /^(__|_[A-Z]|_vptr)/;

/**
 * Returns the members as the program's source declares them. Members inside a library's type are merged into one, and
 * members that only a library declares are left out.
 */
function ownMembers(members: readonly BlockMember[]): BlockMember[] {
  const ownByName = new Map<string, BlockMember>();
  for (const member of members) {
    const parts = member.name.split(".");
    const reserved = parts.findIndex((part) => RESERVED.test(part));
    const name = reserved < 0 ? member.name : parts.slice(0, reserved).join(".");
    if (name === "") continue;
    const earlier = ownByName.get(name);
    const end = member.offset + member.size;
    ownByName.set(
      name,
      earlier === undefined
        ? { ...member, name }
        : { ...earlier, size: Math.max(earlier.offset + earlier.size, end) - earlier.offset },
    );
  }
  return [...ownByName.values()];
}

function isRead(fate: number): boolean {
  return (fate & GranuleFate.read) !== 0;
}

function isAnyRead(bytes: Uint8Array, offset: number, size: number): boolean {
  return bytes.subarray(offset, offset + size).some(isRead);
}

function isAnyWritten(bytes: Uint8Array, offset: number, size: number): boolean {
  return bytes.subarray(offset, offset + size).some((fate) => (fate & GranuleFate.written) !== 0);
}

/** Reasons that make a type certain. At a call further out, another type of the same size may be meant. */
const CERTAIN: ReadonlySet<BlockType["by"]> = new Set([
  ...(["constructor", "container", "variable", "result", "member"] as const),
]);
const CALLS = 3;

/** Returns the type of the blocks, from the call of the allocator or from a call that leads there. */
function typeOfBlocks(
  { path, smallest, size }: Pick<Fates, "path" | "smallest" | "size">,
  typeAt: TypeAt | undefined,
): BlockType | undefined {
  if (typeAt === undefined) return undefined;
  for (const [depth, place] of path.slice(0, CALLS).entries()) {
    const type = typeAt(place, smallest, size);
    if (type !== undefined && (depth === 0 || CERTAIN.has(type.by))) return type;
  }
  return undefined;
}

/** Combines the fates of consecutive elements of some bytes into those of one element. */
function folded(bytes: Uint8Array, element: number): Uint8Array {
  if (element >= bytes.length) return bytes;
  const fates = new Uint8Array(element);
  bytes.forEach((fate, i) => {
    fates[i % element] |= fate;
  });
  return fates;
}

/** Fewest elements that make a period, and largest period in bytes. */
const FEWEST_ELEMENTS = 4;
const LARGEST_ELEMENT = 1024;

/**
 * Returns the smallest number of bytes after which the fates repeat, up to the last byte with a fate. Undefined if they
 * do not repeat, or if all bytes have the same fate.
 */
export function periodOf(bytes: Uint8Array): number | undefined {
  let used = bytes.length;
  while (used > 0 && bytes[used - 1] === 0) used--;
  if (bytes.subarray(0, used).every((fate) => fate === bytes[0])) return undefined;
  const most = Math.min(LARGEST_ELEMENT, used / FEWEST_ELEMENTS);
  for (let period = GRANULE_BYTES; period <= most; period += GRANULE_BYTES)
    if (isPeriod(bytes, period, used)) return period;
  return undefined;
}

function isPeriod(bytes: Uint8Array, period: number, used: number): boolean {
  for (let i = period; i < used; i++) if (bytes[i] !== bytes[i - period]) return false;
  return true;
}

/** Returns runs of unread bytes. Written and unwritten bytes are in separate runs. */
function runsOf(element: Uint8Array): WasteUnreadField[] {
  const runs: WasteUnreadField[] = [];
  for (let offset = 0; offset < element.length; ) {
    let end = offset + 1;
    while (end < element.length && element[end] === element[offset]) end++;
    if (!isRead(element[offset])) runs.push({ offset, size: end - offset, written: element[offset] !== 0 });
    offset = end;
  }
  return runs;
}

/** Adds up the sites of several instances. Most dead bytes come first. */
export function mergeObjects(instances: readonly (readonly ObjectFigures[])[]): ObjectFigures[] {
  const merged = new Map<string, ObjectFigures>();
  for (const figures of instances.flat()) {
    const key = pathKey(figures.path);
    const earlier = merged.get(key);
    merged.set(key, earlier === undefined ? figures : addSites(earlier, figures));
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
  for (const counts of [a, b])
    counts.forEach((count, i) => {
      sums[i] += count;
    });
  return sums;
}

/**
 * Division of the blocks of all paths that end in one call of the allocator, so that the counts of parts can be added
 * up.
 */
interface BlockParts {
  counts: Float64Array;
  ends: Set<number>;
}

export function blockParts(sites: readonly ObjectFigures[]): Map<number | undefined, BlockParts> {
  const parts = new Map<number | undefined, BlockParts>();
  for (const { path, counts } of sites) {
    const earlier = parts.get(path[0]);
    const ends = (earlier?.ends ?? new Set()).add(counts.length / COLUMNS);
    parts.set(path[0], { ends, counts: earlier === undefined ? counts : addCounts(earlier.counts, counts) });
  }
  return parts;
}

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

/** Returns ratios of accessed to allocated bytes, and counts of offsets that are accessed in one way only. */
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
    // The last entry has all further offsets.
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

/** Returns maximal runs of equal counts in all parts, cut at natural alignment: 16, 8, 4, 2 or 1 bytes. */
function fieldsOf(counts: Float64Array, parts: BlockParts = { counts, ends: new Set() }): WasteField[] {
  const length = counts.length / COLUMNS;
  const partCounts = parts.counts;
  const equal = (a: number, b: number): boolean =>
    partCounts[a * COLUMNS] === partCounts[b * COLUMNS] &&
    partCounts[a * COLUMNS + 1] === partCounts[b * COLUMNS + 1];
  const fields: WasteField[] = [];
  for (let offset = 0; offset < length; ) {
    const isHole = partCounts[offset * COLUMNS] === 0 && partCounts[offset * COLUMNS + 1] === 0;
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

/** Returns one field per member, summed over the elements that have counts. Gaps between members have no name. */
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
