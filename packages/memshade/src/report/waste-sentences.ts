import { bareName as bareFunctionName, mainName } from "../analyses/frames/function-names.ts";
import { ownPlace } from "../analyses/frames/own-place.ts";
import type { Partner } from "../analyses/waste/partners.ts";
import type { WasteFinding } from "../analyses/waste/waste-finding.ts";
import {
  LIKELY_RULES,
  MODULE_SPAN,
  type WasteBlocks,
  type WasteFrame,
  type WasteIp,
  type WasteObjects,
  type WasteType,
} from "../model/waste/waste.ts";
import { formatBlocks, formatBytes, formatCount, formatPercent, plural } from "./format.ts";
import { codeOffset, shortPlace } from "./frames.ts";
import { compactName } from "./terminal/common/names.ts";
import { printable } from "./terminal/common/text.ts";

/**
 * A place as `parse (parse.c:88)`, by its function and offset where no line is known. Code of a library that is inlined into
 * the program, or that the program is known to have called, stands behind the program's place:
 * `load (load.cc:7) via std::vector::push_back`.
 */
export function placeOf(ips: readonly WasteIp[]): string {
  const [ip] = ips;
  // Blocks that the host asks the program's allocator for.
  if (ip === undefined) return "a call from outside";
  const own = ownPlace(ips);
  if (own === undefined || own.frame === ip) return frameText(ip, ip.address);
  const address = own.frame === ips[own.depth] ? ips[own.depth]?.address : undefined;
  const via = own.depth === 0 ? ip : own.via;
  return `${frameText(own.frame, address)} via ${bareName(via?.function ?? "a library")}`;
}

/** A function's bare name, safe to print. */
export function bareName(name: string): string {
  return mainName(bareFunctionName(printable(name)));
}

function shortName(name: string): string {
  return compactName(name.replace(/\[abi:\w+\]/g, "")).replace(/\bstd::__\d+::/g, "std::");
}

/** The partner's heaviest place, and how many more it has. */
function partnerText({ ips, places }: Partner): string {
  return morePlaces(placeOf(ips), places);
}

/** A partner whose own text would be that of the place that the finding is about. */
function nearText({ ips, kind }: WasteFinding, partner: Partner): string | undefined {
  const place = placeOf(ips);
  if (partner.places > 1 || placeOf(partner.ips) !== place) return undefined;
  if (partner.ips[0]?.address === ips[0]?.address) return "itself in another call";
  if (!/:\d+\)/.test(place)) return undefined;
  return `another ${kind === "redundant" ? "load" : "store"} of that line`;
}

/** `parse (parse.c:88 and 2 more places)` */
function morePlaces(place: string, places: number): string {
  return places < 2 ? place : place.replace(/\)$/, ` and ${plural(places - 1, "more place")})`);
}

/** A place itself, also where it is in a library, without its line: `memset`, `func[3] (+0x1f2)`. */
export function siteName(ip: WasteIp): string {
  return frameText(
    { function: ip.function, module: ip.module },
    ip.file === undefined ? ip.address : undefined,
  );
}

/** A function's bare name, with its module where the name alone would not tell. */
export function functionInWords({
  function: name,
  module,
}: WasteFrame & { module?: string | undefined }): string {
  const own = name === undefined ? "a function without a name" : bareName(name);
  return module === undefined ? own : `${own} of ${module}`;
}

function frameText(
  frame: (WasteFrame & { module?: string | undefined }) | undefined,
  address: number | undefined,
): string {
  const own = frame?.function === undefined ? "unknown code" : mainName(shortName(frame.function));
  const name = frame?.module === undefined ? own : `${own} of ${frame.module}`;
  const place = frame && shortPlace(frame);
  if (place !== undefined) return `${name} (${place})`;
  return address === undefined || address % MODULE_SPAN === 0 ? name : `${name} (${codeOffset(address)})`;
}

/** What a finding says, and what to try, as sentences. What the place wastes in another way too comes behind. */
export function sentencesOf(finding: WasteFinding): { says: string; advice: string } {
  const { says, advice } = sentencesOfOne(finding);
  if (finding.also === undefined) return { says, advice };
  return { says: `${says} ${sentencesOfOne(finding.also).says}`, advice };
}

function sentencesOfOne(finding: WasteFinding): { says: string; advice: string } {
  const where = morePlaces(placeOf(finding.ips), finding.places);
  const { bytes, operations, wasted, partner, isOwn, bytesEach } = finding;
  const share = formatPercent(Math.round(finding.share * 10_000), 10_000);
  const other = partner === undefined ? undefined : partnerText(partner);
  const near = partner === undefined ? undefined : nearText(finding, partner);
  const part = partner === undefined ? "" : formatPercent(partner.bytes, bytes);
  // Nearly all is said as all.
  const isAll = partner !== undefined && partner.bytes > 0.995 * bytes;
  const them = isAll ? "" : `${part} of them `;
  const only = wasted === 1 ? "s" : "";
  switch (finding.kind) {
    case "dead": {
      const by =
        other === undefined
          ? ""
          : isOwn
            ? `, ${part} of them by itself`
            : `, ${part} of them by ${near ?? other}`;
      const size = bytesEach === undefined || bytesEach <= 16 ? "" : ` of ${formatCount(bytesEach)} bytes`;
      const stores =
        operations === 1 ? `store${size} writes` : `${formatCount(operations)} stores${size} write`;
      return {
        says: `${formatBytes(bytes)} stored by ${where} are overwritten before anything reads them${by}: ${share} of what its ${stores}.`,
        advice: deadAdvice(finding, other),
      };
    }
    case "silent": {
      const last =
        other === undefined
          ? ""
          : isOwn
            ? `, ${them}stored there by itself`
            : `, ${them}stored by ${near ?? other}`;
      const zeros = finding.clearsCleared ? ", zeros over memory that is zero from the start" : "";
      return {
        says: `${partOf(wasted ?? 0, operations, "store", where)} write${only} what is there already${last}${zeros}.`,
        advice: finding.clearsCleared
          ? "Leave the clear out: nobody has stored there since the system cleared the memory."
          : finding.repeatsItself
            ? "Do this once, and again only when what it is made of has changed."
            : "Compare before you store, or store only when the value was computed anew.",
      };
    }
    case "clear":
      return {
        says: `${formatBytes(bytes)} of zeros from ${where} are overwritten before anything reads them: ${share} of what its ${plural(operations, "call")} clear${operations === 1 ? "s" : ""}.`,
        advice: isNearlyAll(finding.share)
          ? "Ask for memory that is not cleared (malloc instead of calloc): the program fills it anyway."
          : "Ask for memory that is not cleared (malloc instead of calloc), and clear what is not filled.",
      };
    case "redundant": {
      const last =
        other === undefined
          ? ""
          : isOwn
            ? `, ${them}last loaded by itself`
            : `, ${them}last loaded by ${near ?? other}`;
      return {
        says: `${partOf(wasted ?? 0, operations, "load", where)} load${only} again what the same loop has loaded and nobody has changed${last}${valueText(finding)}.`,
        advice: "Keep the value in a local variable across the loop.",
      };
    }
    case "moved":
      return {
        says: `${formatCount(wasted ?? 0)} of the ${formatCount(operations)} reallocations of ${where} move their block: ${formatBytes(bytes)} are copied to where there is more room.`,
        advice:
          "Make the block larger by a half at a time instead of by what is needed, or ask for all of it at once.",
      };
    case "never-read":
      return neverRead(finding, where);
    case "write-only":
    case "cold":
      return members(finding, where);
    default:
      throw new RangeError(`no such finding: ${finding.kind satisfies never}`);
  }
}

/** `; 98.0 % of them find 42` */
function valueText({ value, wasted = 0 }: WasteFinding): string {
  if (value === undefined || wasted < 2) return "";
  const part = value.loads > 0.995 * wasted ? "all" : formatPercent(value.loads, wasted);
  return `; ${value.exact ? "" : "at least "}${part} of them find ${value.value}`;
}

/** `90 of the 100 stores (90.0 %) of decode (decode.c:3)` */
function partOf(wasted: number, operations: number, what: string, where: string): string {
  if (operations === 1) return `The only ${what} of ${where}`;
  const all = `${formatCount(operations)} ${what}s of ${where}`;
  if (wasted === operations) return `All ${all}`;
  const share = formatPercent(wasted, operations);
  return `${formatCount(wasted)} of the ${formatCount(operations)} ${what}s (${share}) of ${where}`;
}

function isNearlyAll(share: number): boolean {
  return share > 0.995;
}

function neverRead(
  { object, wasted = 0, operations, bytes }: WasteFinding,
  where: string,
): { says: string; advice: string } {
  const { site } = object!;
  const isOne = wasted === 1;
  const which =
    wasted === operations
      ? isOne
        ? `The block of ${formatCount(site.size)} bytes`
        : wasted === 2
          ? `Both ${blocksOf(site).replace("2 ", "")}`
          : `All ${blocksOf(site)}`
      : `${formatCount(wasted)} of the ${blocksOf(site)}`;
  return {
    says: `${which} from ${where} ${isOne ? "is" : "are"} stored to and never read: ${formatBytes(bytes)}.`,
    advice: isOne
      ? "Nobody reads what is kept there: leave the block out, or fill it in when somebody asks for it."
      : "Nobody reads what is kept there: leave the blocks out, or fill them in when somebody asks for them.",
  };
}

/** Members that nobody reads: `track.comment: 24 of 96 bytes are stored to and never read, in …`. */
function members({ kind, object, bytes }: WasteFinding, where: string): { says: string; advice: string } {
  const { site, fields } = object!;
  const size = fields.reduce((sum, field) => sum + field.size, 0);
  const isOne = joined(fields).length === 1;
  const isWritten = kind === "write-only";
  const what = isWritten ? "stored to and never read" : "neither stored to nor read";
  const names = capital(memberNames(fields, site.type));
  const element = site.type === undefined && site.element !== site.size ? "each " : "";
  return {
    says: `${names}: ${formatCount(size)} of ${element}${formatCount(site.element ?? site.size)} bytes ${size === 1 ? "is" : "are"} ${what}, in the ${blocksOf(site)} from ${where}: ${formatBytes(bytes)}.`,
    advice: `Drop the ${isOne ? "field" : "fields"}, or ${
      isWritten
        ? `do not fill ${isOne ? "it" : "them"} in where nobody asks for ${isOne ? "it" : "them"}`
        : `move ${isOne ? "it" : "them"} out of the struct`
    }.`,
  };
}

/** Members with the name of their type in front: `track.comment and track.pad`. */
export function memberNames(fields: Fields, type: WasteType | undefined): string {
  if (type === undefined || LIKELY_RULES.has(type.by)) return fieldNames(fields, type);
  const of = shortName(type.name);
  return fieldNames(
    fields.map((field) => (field.name === undefined ? field : { ...field, name: `${of}.${field.name}` })),
    type,
  );
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

function deadAdvice(finding: WasteFinding, killer: string | undefined): string {
  const isConstructor = /(?:^|::)([\w$]+)::\1$/.test(bareName(finding.ips[0]?.function ?? ""));
  const isClear =
    isConstructor ||
    finding.class === "fill" ||
    /memset|bzero|clear|zero/i.test(finding.ips[0]?.function ?? "");
  const killed = (finding.partner?.bytes ?? 0) / finding.bytes;
  if (isClear && killer !== undefined && !finding.isOwn && finding.share * killed > 0.9) {
    const [ip] = finding.ips;
    const around = [ip, ...(ip?.inlined ?? [])].map((frame) => bareName(frame?.function ?? ""));
    if (around.some((name) => /^std::vector::/.test(name)))
      return `Reserve the room and append instead of clearing it first: ${killer} fills the memory anyway.`;
    return `Drop the ${isConstructor ? "initialization" : "clear"}: ${killer} fills the memory anyway.`;
  }
  if (finding.repeatsItself || finding.also?.kind === "silent")
    return "Do this once, and again only when what it is made of has changed.";
  if (isClear && !isConstructor)
    return "Drop the clear if all of it is filled afterwards, or clear what is left over only.";
  if (finding.class === "copy") return "Copy only what is read, or hand on a pointer instead of a copy.";
  if (finding.isOwn || (killer === undefined && finding.isInLoop))
    return "Keep the value in a local variable and store it once, at the end.";
  return "Leave the store out, or move it to the paths on which the value is read.";
}
