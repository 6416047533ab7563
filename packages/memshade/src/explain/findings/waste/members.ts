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
import { MOST_SHARE, type WasteFinding } from "./waste-finding.ts";
import { blocksOf, whereOf } from "./waste-words.ts";

/** Members of blocks that are used too little. */
export interface MembersFacts {
  readonly type: WasteType | undefined;
  /** Bytes of what blocks hold one of, or many one behind the other. */
  readonly element: number;
  readonly fields: readonly WasteUnreadField[];
}

export function membersFacts({ object }: WasteFinding): MembersFacts {
  const { site, fields } = object!;
  return { type: site.type, element: site.element ?? site.size, fields };
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

/** Whether nearly all blocks of a place were never read: nothing is said of their members then. */
export function areBlocksUnread(site: WasteBlocks): boolean {
  return site.unread_blocks >= MOST_SHARE * site.blocks;
}

/** Without a type, what is larger is a buffer. */
const LARGEST_RECORD = 1024;

export function areRecords({ type, bytes, element = 0 }: WasteBlocks): boolean {
  return (
    element > 0 && bytes >= FEWEST_RECORDS * element && (type !== undefined || element <= LARGEST_RECORD)
  );
}

/** Whether a library made the records, of no type that is known: what it has in them is its own business. */
export function isOfLibrary({ type, ips }: WasteBlocks): boolean {
  const via = ownPlace<WasteFrame>(ips)?.via;
  return type === undefined && via !== undefined && isLibraryCaller(via.library);
}

/** Bytes of the members of one record. */
export function sizeOf(fields: Fields): number {
  return fields.reduce((sum, { size }) => sum + size, 0);
}

/** `in track.comment of …`, or `in 24 of 96 bytes of …` where members have no names. */
export function membersSentence({ type, fields, element }: MembersFacts, after: string): FindingSentence {
  const bytes = `in ${formatCount(sizeOf(fields))} of ${formatCount(element)} bytes of`;
  const [field] = [...fields].sort((a, b) => b.size - a.size);
  if (field?.name === undefined || type === undefined) return { before: bytes, after, short: "in fields of" };
  const more = fields.length > 1 ? ` and ${fields.length - 1} more` : "";
  return { before: `in ${memberNames([field], type)}${more} of`, after, short: "in fields of" };
}

/** At length: `track.comment: 24 of 96 bytes are stored to and never read, in …`. */
export function membersInWords(finding: WasteFinding, what: string): string {
  const { site, fields } = finding.object!;
  const size = sizeOf(fields);
  const names = capital(memberNames(fields, site.type));
  const element = site.type === undefined && site.element !== site.size ? "each " : "";
  return `${names}: ${formatCount(size)} of ${element}${formatCount(site.element ?? site.size)} bytes ${size === 1 ? "is" : "are"} ${what}, in the ${blocksOf(site)} from ${whereOf(finding)}${followedText(site)}: ${formatBytes(finding.bytes)}.`;
}

/** Advice whose words agree in number: `Remove the fields, or fill them only where they are read.` `them`: "it" or "them". */
export function dropMembers({ object }: WasteFinding, or: (them: string) => string): string {
  const isOne = joined(object!.fields).length === 1;
  return `Remove the ${isOne ? "field" : "fields"}, or ${or(isOne ? "it" : "them")}.`;
}

/** Of large blocks the beginning alone is followed. */
function followedText({ followed }: WasteBlocks): string {
  return followed === undefined ? "" : ` (the first ${formatBytes(followed)} of each was followed)`;
}

/** Members with the name of their type in front: `track.comment and track.pad`. */
function memberNames(fields: Fields, type: WasteType | undefined): string {
  if (type === undefined || LIKELY_RULES.has(type.by)) return fieldNames(fields, type);
  const of = shortName(type.name);
  return fieldNames(
    fields.map((field) => (field.name === undefined ? field : { ...field, name: `${of}.${field.name}` })),
    type,
  );
}

type Fields = readonly { name?: string | undefined; offset: number; size: number }[];

/** Fields by their names, or by offset and size. Names of a type that is only likely come behind the offset. */
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

/** Fields without names that lie side by side, as one. */
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
