import {
  LIKELY_RULES,
  type WasteBlocks,
  type WasteFile,
  type WasteFrame,
  type WasteReallocations,
  type WasteType,
  type WasteUnreadField,
} from "../../model/waste/waste.ts";
import { isLibraryCaller } from "../frames/libraries.ts";
import { ownPlace } from "../frames/own-place.ts";
import { MOST_SHARE, PLAIN, type WasteFinding } from "./waste-finding.ts";

/** Whoever makes blocks larger by a half at a time copies some two bytes for each that they grow by. */
const USUAL_COPIES = 4;

/** A place that makes blocks larger in small steps, so that they are copied again and again. */
export function movedBlocks({ ips, calls, grown, moves, moved }: WasteReallocations): WasteFinding[] {
  if (moves < 2 || moved <= USUAL_COPIES * grown) return [];
  return [
    {
      ...PLAIN,
      kind: "moved",
      ips,
      bytes: moved,
      operations: calls,
      wasted: moves,
      share: moves / calls,
    },
  ];
}

/**
 * The blocks of each place with the members alone that nobody reads in any block of their type: a type has some members for the sake of
 * one place, and others leave these unread.
 */
export function unreadInAllOfType(sites: readonly WasteBlocks[]): WasteBlocks[] {
  const ofType = new Map<string, ReadonlySet<string>>();
  for (const { type, fields } of sites) {
    if (!isCertain(type) || fields === undefined) continue;
    const unread = new Set(fields.map(partKey));
    const known = ofType.get(typeKey(type));
    ofType.set(typeKey(type), known === undefined ? unread : common(known, unread));
  }
  return sites.map((site) => {
    const { type, fields } = site;
    const unread = isCertain(type) ? ofType.get(typeKey(type)) : undefined;
    return unread === undefined || fields === undefined
      ? site
      : { ...site, fields: fields.filter((field) => unread.has(partKey(field))) };
  });
}

function isCertain(type: WasteType | undefined): type is WasteType {
  return type !== undefined && !LIKELY_RULES.has(type.by);
}

function common<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): ReadonlySet<T> {
  return new Set([...one].filter((member) => other.has(member)));
}

const typeKey = ({ name, size }: WasteType): string => `${size} ${name}`;
const partKey = ({ offset, size }: WasteUnreadField): string => `${offset} ${size}`;

/** What nobody reads of the blocks of a place: all of them, or members of each. */
export function unreadBlocks(site: WasteBlocks): WasteFinding[] {
  const shape = { ...PLAIN, ips: site.ips, operations: site.blocks };
  if (site.unread_blocks >= MOST_SHARE * site.blocks)
    return [
      {
        ...shape,
        kind: "never-read",
        bytes: site.unread_bytes,
        wasted: site.unread_blocks,
        share: site.unread_bytes / site.bytes,
        object: { site, fields: [] },
      },
    ];
  const { element = 0, fields = [] } = site;
  const written = fields.filter(({ written }) => written);
  if (written.length === 0 || !areRecords(site) || isOfLibrary(site)) return [];
  const size = written.reduce((sum, { size }) => sum + size, 0);
  return [
    {
      ...shape,
      kind: "write-only",
      // Not every block is full of elements.
      bytes: Math.min(site.never_read, Math.round((site.bytes * size) / element)),
      share: size / element,
      object: { site, fields: written },
    },
  ];
}

/** So many alike are records of a program; the parts of one are its matter, or a buffer's. Without a type, what is larger is a buffer. */
const FEWEST_RECORDS = 16;
const LARGEST_RECORD = 1024;

function areRecords({ type, bytes, element = 0 }: WasteBlocks): boolean {
  return (
    element > 0 && bytes >= FEWEST_RECORDS * element && (type !== undefined || element <= LARGEST_RECORD)
  );
}

/** Whether a library made the records, of no type that is known: what it has in them is its own business. */
function isOfLibrary({ type, ips }: WasteBlocks): boolean {
  const via = ownPlace<WasteFrame>(ips)?.via;
  return type === undefined && via !== undefined && isLibraryCaller(via.library);
}

/** Part of a record that nobody touches from which on its size matters. */
const COLD_PART = 0.25;

/**
 * Members of a known type that nobody stores to or reads. The host may, where it says nothing of what it does; and a part of a block
 * without a type is room that was left.
 */
export function coldFields(site: WasteBlocks, { totals }: WasteFile): WasteFinding[] {
  const { type, element = 0, fields = [] } = site;
  if (type === undefined || !areRecords(site) || totals.hostAssumedRead > 0) return [];
  const cold = fields.filter(({ written }) => !written);
  const size = cold.reduce((sum, { size }) => sum + size, 0);
  if (size < COLD_PART * element) return [];
  return [
    {
      ...PLAIN,
      kind: "cold",
      ips: site.ips,
      operations: site.blocks,
      bytes: Math.round((site.bytes * size) / element),
      share: size / element,
      object: { site, fields: cold },
    },
  ];
}
