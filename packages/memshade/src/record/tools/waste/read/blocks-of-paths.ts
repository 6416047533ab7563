import type { BlockMember, BlockType } from "../../../../profile/model/block-type.ts";
import type { WasteBlocks, WasteIp, WasteUnreadField } from "../../../../profile/model/waste/waste.ts";
import { FEWEST_RECORDS } from "../../../../profile/model/waste/waste.ts";
import type { TypeAt } from "../../session.ts";
import { GranuleFate, OFFSETS } from "../layout.ts";
import { COLUMNS, Column, type ObjectFigures } from "./read-objects.ts";
import { GRANULE_BYTES, type PathBlocksFigures } from "./read-path-blocks.ts";

/** What happened to each byte of some blocks. */
interface Fates {
  path: readonly number[];
  size: number;
  smallest: number;
  /** `GranuleFate` per byte. */
  bytes: Uint8Array;
  /** Bytes behind these are not told apart. */
  tail: boolean;
}

type TypesOnce = () => TypeAt | undefined;

/** Blocks of a path as the file has them. `header`: bytes at their beginnings that a language's runtime keeps for itself. */
export function blocksOf(
  figures: PathBlocksFigures,
  ips: WasteIp[],
  typesOnce: TypesOnce,
  header: number,
): WasteBlocks {
  const { path, blocks, bytes, size, smallest, unread, unreadBytes, neverRead, fates, tail } = figures;
  const each = new Uint8Array(Math.min(size, fates.length * GRANULE_BYTES));
  fates.forEach((fate, i) => {
    each.fill(fate, i * GRANULE_BYTES, (i + 1) * GRANULE_BYTES);
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
    ...unreadParts({ path, size, smallest, bytes: each.fill(GranuleFate.read, 0, header), tail }, typesOnce),
  };
}

/** The same of what precise mode counts: it does not tell whole blocks apart. */
export function blocksOfObjects(
  figures: ObjectFigures,
  ips: WasteIp[],
  typesOnce: TypesOnce,
  header: number,
): WasteBlocks {
  const { path, objects, bytes, size, smallest, counts } = figures;
  const length = counts.length / COLUMNS;
  const each = Uint8Array.from(
    { length },
    (_, i) =>
      (counts[i * COLUMNS + Column.reads] > 0 ? GranuleFate.read : 0) |
      (counts[i * COLUMNS + Column.writes] > 0 ? GranuleFate.written : 0),
  );
  const isUnread =
    each.some((fate) => fate === GranuleFate.written) &&
    each.every((fate) => (fate & GranuleFate.read) === 0);
  const neverRead = each.reduce((sum, fate, i) => {
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
        bytes: each.slice(0, OFFSETS).fill(GranuleFate.read, 0, header),
        tail: size > OFFSETS,
      },
      typesOnce,
    ),
  };
}

/** More parts than these are no fields. */
const MOST_FIELDS = 64;

/**
 * The type of blocks and the parts of it that nobody reads: none of them tells that somebody reads all of it. Whoever walks an array of numbers in steps leaves a
 * period in it too, so where debug information knows of no type with members, a period does not make any.
 */
function unreadParts(
  fates: Fates,
  typesOnce: TypesOnce,
): Pick<WasteBlocks, "type" | "element" | "fields" | "followed"> | undefined {
  const { bytes, tail, size, smallest } = fates;
  const type = typeOfBlocks(fates, typesOnce());
  const followed = tail ? { followed: bytes.length } : {};
  if (type !== undefined) {
    if (tail && usedElements(bytes, type.size) < FEWEST_RECORDS) return undefined;
    const element = folded(bytes, type.size);
    const fields = ownMembers(type.members)
      .filter(({ offset, size }) => !isAnyRead(element, offset, size))
      .map((member) => ({ ...member, written: isAnyWritten(element, member.offset, member.size) }));
    const { name, by } = type;
    return { type: { name, size: type.size, by }, element: type.size, fields, ...followed };
  }
  if (bytes.every(isRead)) return undefined;
  const period = periodOf(bytes);
  if (period === undefined ? tail || size !== smallest : typesOnce() !== undefined) return undefined;
  const fields = runsOf(folded(bytes, period ?? size));
  return fields.length > MOST_FIELDS ? undefined : { element: period ?? size, fields, ...followed };
}

/** Elements of which anything was stored to or read: of an array of which the beginning alone is followed, so many stand for all. */
function usedElements(bytes: Uint8Array, size: number): number {
  let used = 0;
  for (let at = 0; at + size <= bytes.length; at += size)
    if (bytes.subarray(at, at + size).some((fate) => fate !== 0)) used++;
  return used;
}

/** Names that are a library's own, and pointers to tables of virtual functions. */
const RESERVED = /^(__|_[A-Z]|_vptr)/;

/** Members as the program's source has them: what a library's type is made of is one, and what only a library knows of is none. */
function ownMembers(members: readonly BlockMember[]): BlockMember[] {
  const own = new Map<string, BlockMember>();
  for (const member of members) {
    const parts = member.name.split(".");
    const reserved = parts.findIndex((part) => RESERVED.test(part));
    const name = reserved < 0 ? member.name : parts.slice(0, reserved).join(".");
    if (name === "") continue;
    const known = own.get(name);
    const end = member.offset + member.size;
    own.set(
      name,
      known === undefined
        ? { ...member, name }
        : { ...known, size: Math.max(known.offset + known.size, end) - known.offset },
    );
  }
  return [...own.values()];
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

/** What a type of a call further out is known by for certain: a function there may have other types of the size. */
const CERTAIN: ReadonlySet<BlockType["by"]> = new Set([
  ...(["constructor", "container", "variable", "result", "member"] as const),
]);
/** Calls of the allocator that may be those of a function of the program around it. */
const CALLS = 3;

/** The type of the blocks, by the call of the allocator, or by one that leads there. */
export function typeOfBlocks(
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

/** What happened to an element of some bytes, in any of those that lie one behind the other. */
function folded(bytes: Uint8Array, element: number): Uint8Array {
  if (element >= bytes.length) return bytes;
  const all = new Uint8Array(element);
  bytes.forEach((fate, i) => {
    all[i % element] |= fate;
  });
  return all;
}

/** Elements from which on a period is no chance, and the bytes that one has at most. */
const FEWEST_ELEMENTS = 4;
const LARGEST_ELEMENT = 1024;

/**
 * The smallest number of bytes after which what happened repeats, up to the last byte that anything happened to; undefined where it does
 * not, or where all bytes had the same fate.
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

/** Runs of bytes that nobody read, those that were stored to apart from those that were not. */
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
