import { formatBlocks, formatCount, formatPercent, plural } from "../../../profile/model/format.ts";
import {
  LIKELY_RULES,
  type WasteBlocks,
  type WasteObjects,
  type WasteType,
} from "../../../profile/model/waste.ts";
import { placeOf, shortName } from "../../analyses/frames/place-names.ts";
import type { Partner, WasteFinding } from "./waste-finding.ts";

/** Formats the location of a finding: `parse (parse.c:88 and 2 more places)`. */
export function locationText({ ips, places }: WasteFinding): string {
  return morePlaces(placeOf(ips), places);
}

/** Formats the partner's heaviest location and the number of others; undefined without a partner. */
export function partnerText({ partner }: WasteFinding): string | undefined {
  return partner && morePlaces(placeOf(partner.ips), partner.places);
}

/** Formats the partner as the end of a sentence: `itself`, `another store of that line`, or its location. */
export function partnerInWords(finding: WasteFinding, noun: "store" | "load"): string {
  if (finding.isOwn) return "itself";
  return nearText(finding, finding.partner!, noun) ?? partnerText(finding)!;
}

/** Formats a partner whose location reads the same as the finding's. */
function nearText({ ips }: WasteFinding, partner: Partner, noun: string): string | undefined {
  const place = placeOf(ips);
  if (partner.places > 1 || placeOf(partner.ips) !== place) return undefined;
  if (partner.ips[0]?.address === ips[0]?.address) return "itself in another call";
  if (!/:\d+\)/.test(place)) return undefined;
  return `another ${noun} of that line`;
}

function morePlaces(place: string, places: number): string {
  return places < 2 ? place : place.replace(/\)$/, ` and ${plural(places - 1, "more place")})`);
}

/**
 * Forms `, 90.0 % of them stored by decode (decode.c:3)`: the partner's share; empty without a partner.
 * Nearly all counts as all.
 */
export function repeatedBy(finding: WasteFinding, noun: "store" | "load", did: string): string {
  const { partner, bytes } = finding;
  if (partner === undefined) return "";
  const isAll = partner.bytes > 0.995 * bytes;
  const them = isAll ? "" : `${formatPercent(partner.bytes, bytes)} of them `;
  return `, ${them}${did} by ${partnerInWords(finding, noun)}`;
}

/** Forms `90 of the 100 stores (90.0 %) of decode (decode.c:3) write`; the verb agrees in number. */
export function operationsInWords(finding: WasteFinding, noun: "store" | "load", verb: string): string {
  const { wasted = 0, operations } = finding;
  return `${partOf(wasted, operations, noun, locationText(finding))} ${verb}${wasted === 1 ? "s" : ""}`;
}

function partOf(wasted: number, operations: number, noun: string, place: string): string {
  if (operations === 1) return `The only ${noun} of ${place}`;
  const operationsText = `${formatCount(operations)} ${noun}s of ${place}`;
  if (wasted === operations) return `All ${operationsText}`;
  const share = formatPercent(wasted, operations);
  return `${formatCount(wasted)} of the ${formatCount(operations)} ${noun}s (${share}) of ${place}`;
}

/** Formats a share of a location's bytes, 0…1, rounded to a hundredth of a per cent. */
export function shareInWords({ share }: WasteFinding): string {
  return formatPercent(Math.round(share * 10_000), 10_000);
}

/** Forms `100 blocks of 80 bytes (struct particle)`, with the type if known. */
export function blocksOf(site: WasteObjects | WasteBlocks): string {
  const { size, varies, type } = site;
  const blocks = `${formatBlocks("objects" in site ? site.objects : site.blocks)} of ${varies ? "up to " : ""}${formatCount(size)} bytes`;
  return type === undefined ? blocks : `${blocks} (${typeText(site, type)})`;
}

function typeText(
  { size, varies }: WasteObjects | WasteBlocks,
  { name, size: element, by }: WasteType,
): string {
  const full = shortName(name);
  const array = varies || size !== element ? `array of ${full}` : full;
  return LIKELY_RULES.has(by) ? `probably ${array}` : array;
}
