import { formatBlocks, formatCount, formatPercent, plural } from "../../../profile/model/format.ts";
import {
  LIKELY_RULES,
  type WasteBlocks,
  type WasteObjects,
  type WasteType,
} from "../../../profile/model/waste.ts";
import { placeOf, shortName } from "../../analyses/frames/place-names.ts";
import type { Partner, WasteFinding } from "./waste-finding.ts";

/** `parse (parse.c:88 and 2 more places)`: the place of a finding. */
export function whereOf({ ips, places }: WasteFinding): string {
  return morePlaces(placeOf(ips), places);
}

/** The partner's heaviest place, and how many more it has; undefined where no partner is known. */
export function partnerText({ partner }: WasteFinding): string | undefined {
  return partner && morePlaces(placeOf(partner.ips), partner.places);
}

/** The partner as the end of a sentence: `itself`, `another store of that line`, or its place. */
export function partnerInWords(finding: WasteFinding, what: "store" | "load"): string {
  if (finding.isOwn) return "itself";
  return nearText(finding, finding.partner!, what) ?? partnerText(finding)!;
}

/** A partner whose own text would be that of the place that the finding is about. */
function nearText({ ips }: WasteFinding, partner: Partner, what: string): string | undefined {
  const place = placeOf(ips);
  if (partner.places > 1 || placeOf(partner.ips) !== place) return undefined;
  if (partner.ips[0]?.address === ips[0]?.address) return "itself in another call";
  if (!/:\d+\)/.test(place)) return undefined;
  return `another ${what} of that line`;
}

function morePlaces(place: string, places: number): string {
  return places < 2 ? place : place.replace(/\)$/, ` and ${plural(places - 1, "more place")})`);
}

/** `, 90.0 % of them stored by decode (decode.c:3)`: who did the same before; empty where that is not known. Nearly all is said as all. */
export function repeatedBy(finding: WasteFinding, what: "store" | "load", did: string): string {
  const { partner, bytes } = finding;
  if (partner === undefined) return "";
  const isAll = partner.bytes > 0.995 * bytes;
  const them = isAll ? "" : `${formatPercent(partner.bytes, bytes)} of them `;
  return `, ${them}${did} by ${partnerInWords(finding, what)}`;
}

/** `90 of the 100 stores (90.0 %) of decode (decode.c:3) write`; the verb agrees with them. */
export function operationsInWords(finding: WasteFinding, what: "store" | "load", verb: string): string {
  const { wasted = 0, operations } = finding;
  return `${partOf(wasted, operations, what, whereOf(finding))} ${verb}${wasted === 1 ? "s" : ""}`;
}

function partOf(wasted: number, operations: number, what: string, where: string): string {
  if (operations === 1) return `The only ${what} of ${where}`;
  const all = `${formatCount(operations)} ${what}s of ${where}`;
  if (wasted === operations) return `All ${all}`;
  const share = formatPercent(wasted, operations);
  return `${formatCount(wasted)} of the ${formatCount(operations)} ${what}s (${share}) of ${where}`;
}

/** A share of a place's bytes, 0…1, to a hundredth of a per cent. */
export function shareInWords({ share }: WasteFinding): string {
  return formatPercent(Math.round(share * 10_000), 10_000);
}

/** `100 blocks of 80 bytes (struct particle)`, with the type as far as it is known. */
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
