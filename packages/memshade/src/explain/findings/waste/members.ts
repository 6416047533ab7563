import { formatBytes, formatCount, plural } from "../../../profile/model/format.ts";
import {
  FEWEST_RECORDS,
  LIKELY_RULES,
  type WasteBlocks,
  type WasteFrame,
  type WasteType,
  type WasteUnreadField,
} from "../../../profile/model/waste.ts";
import { isLibraryCaller } from "../../analyses/frames/libraries.ts";
import { ownPlace } from "../../analyses/frames/own-place.ts";
import { shortName } from "../../analyses/frames/place-names.ts";
import type { FindingSentence } from "../finding-kind.ts";
import type { WasteFinding } from "./waste-finding.ts";
import { blocksOf, locationText } from "./waste-words.ts";

/** Members of blocks that are hardly used. */
export interface MembersFacts {
  /** Type of the element, if known. */
  readonly type: WasteType | undefined;
  /** Bytes of the element that blocks hold, once or as an array. */
  readonly element: number;
  /** Members concerned. */
  readonly fields: readonly WasteUnreadField[];
}

export function membersFacts({ object }: WasteFinding): MembersFacts {
  const { site, fields } = object!;
  return { type: site.type, element: site.element ?? site.size, fields };
}

/**
 * Keeps only the members of each site's blocks that are unread in all blocks of their type: a type may have
 * members for one site that other sites leave unread.
 */
export function unreadInAllOfType(sites: readonly WasteBlocks[]): WasteBlocks[] {
  const ofType = new Map<string, ReadonlySet<string>>();
  for (const { type, fields } of sites) {
    if (!isCertain(type) || fields === undefined) continue;
    const unread = new Set(fields.map(partKey));
    const unreadSoFar = ofType.get(typeKey(type));
    ofType.set(typeKey(type), unreadSoFar === undefined ? unread : common(unreadSoFar, unread));
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

function common<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): ReadonlySet<T> {
  return new Set([...a].filter((member) => b.has(member)));
}

const typeKey = ({ name, size }: WasteType): string => `${size} ${name}`;
const partKey = ({ offset, size }: WasteUnreadField): string => `${offset} ${size}`;

/** Least part of a site's blocks: above it, most of the work that fills them is in vain. */
const MOST_UNREAD = 1 / 2;

/** True if most blocks of a site were never read; their members are not reported then. */
export function areBlocksUnread(site: WasteBlocks): boolean {
  return site.unread_blocks >= MOST_UNREAD * site.blocks;
}

/** Leaves out stores in vain, unless they waste far more than the blocks and members that are told. */
export function withoutToldStores(candidates: readonly WasteFinding[]): WasteFinding[] {
  const told = candidates.filter(isOfUnreadBlocks).reduce((sum, { bytes }) => sum + bytes, 0);
  return candidates.filter(
    ({ kind, object, bytes }) => kind !== "write-only" || object !== undefined || bytes > 2 * told,
  );
}

export function isOfUnreadBlocks({ kind, object }: WasteFinding): boolean {
  return object !== undefined && (kind === "never-read" || kind === "write-only");
}

/** Largest block without a type that counts as a record; larger ones are buffers. */
const LARGEST_RECORD = 1024;

export function areRecords({ type, bytes, element = 0 }: WasteBlocks): boolean {
  return (
    element > 0 && bytes >= FEWEST_RECORDS * element && (type !== undefined || element <= LARGEST_RECORD)
  );
}

/** True if a library made the records and their type is unknown: their members are the library's concern. */
export function isOfLibrary({ type, ips }: WasteBlocks): boolean {
  const via = ownPlace<WasteFrame>(ips)?.via;
  return type === undefined && via !== undefined && isLibraryCaller(via.library);
}

/** Returns the bytes of the members of one record. */
export function sizeOf(fields: Fields): number {
  return fields.reduce((sum, { size }) => sum + size, 0);
}

/** Forms `in track.comment of blocks of …`, or `in 24 of 96 bytes of blocks of …` if members have no names. */
export function membersSentence({ type, fields, element }: MembersFacts, after: string): FindingSentence {
  const bytes = `in ${formatCount(sizeOf(fields))} of ${formatCount(element)} bytes of blocks of`;
  const [field] = [...fields].sort((a, b) => b.size - a.size);
  if (field?.name === undefined || type === undefined) return { before: bytes, after, short: "in fields of" };
  const more = fields.length > 1 ? ` and ${plural(fields.length - 1, "more field")}` : "";
  return { before: `in ${memberNames([field], type)}${more} of blocks of`, after, short: "in fields of" };
}

/** Forms the full text: `track.comment: 24 of 96 bytes are stored to and never read, in …`. */
export function membersInWords(finding: WasteFinding, predicate: string): string {
  const { site, fields } = finding.object!;
  const size = sizeOf(fields);
  const names = capital(memberNames(fields, site.type));
  const element = site.type === undefined && site.element !== site.size ? "each " : "";
  return `${names}: ${formatCount(size)} of ${element}${formatCount(site.element ?? site.size)} bytes ${size === 1 ? "is" : "are"} ${predicate}, in the ${blocksOf(site)} from ${locationText(finding)}${followedText(site)}: ${formatBytes(finding.bytes)}.`;
}

/**
 * Forms advice whose words agree in number: `Remove the fields, or fill them only where they are read.`
 * `them`: "it" or "them".
 */
export function dropMembers({ object }: WasteFinding, or: (them: string) => string): string {
  const isOne = joined(object!.fields).length === 1;
  return `Remove the ${isOne ? "field" : "fields"}, or ${or(isOne ? "it" : "them")}.`;
}

/** Only the beginning of large blocks is followed. */
function followedText({ followed }: WasteBlocks): string {
  return followed === undefined ? "" : ` (the first ${formatBytes(followed)} of each was followed)`;
}

/** Formats members with the name of their type: `track.comment and track.pad`. */
function memberNames(fields: Fields, type: WasteType | undefined): string {
  if (type === undefined || LIKELY_RULES.has(type.by)) return fieldNames(fields, type);
  const typeName = shortName(type.name);
  return fieldNames(
    fields.map((field) =>
      field.name === undefined ? field : { ...field, name: `${typeName}.${field.name}` },
    ),
    type,
  );
}

type Fields = readonly { name?: string | undefined; offset: number; size: number }[];

/** Formats fields by name, or by offset and size. If the type is only likely, names follow the offset. */
export function fieldNames(fields: Fields, type: WasteType | undefined): string {
  const isLikely = type !== undefined && LIKELY_RULES.has(type.by);
  const texts = joined(fields).map(({ name, offset, size }) =>
    name !== undefined && !isLikely
      ? name
      : `offset ${offset} (${plural(size, "byte")}${name === undefined ? "" : `, ${name}?`})`,
  );
  const shown = texts.length > 6 ? [...texts.slice(0, 5), `${texts.length - 5} more`] : texts;
  return shown.length < 2 ? (shown[0] ?? "") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** Joins adjacent fields without names. */
function joined(fields: Fields): { name?: string | undefined; offset: number; size: number }[] {
  const result: { name?: string | undefined; offset: number; size: number }[] = [];
  for (const { name, offset, size } of fields) {
    const last = result.at(-1);
    if (
      last !== undefined &&
      name === undefined &&
      last.name === undefined &&
      last.offset + last.size === offset
    )
      last.size += size;
    else result.push({ name, offset, size });
  }
  return result;
}

function capital(text: string): string {
  return text.startsWith("offset") ? `O${text.slice(1)}` : text;
}
