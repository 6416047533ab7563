import type { WasteBlocks, WasteFrame, WasteIp } from "../../../profile/model/waste.ts";
import { ownPlace } from "../../analyses/frames/own-place.ts";
import { functionOf, isSameFunction, type WasteCaller, type WasteFinding } from "./waste-finding.ts";

/**
 * Merges findings of one kind on one source line. One line has several instructions: expressions with several
 * accesses, unrolled loops, inlined functions, several contexts. Without lines, findings of one function with
 * the same partner are merged. Code that wastes only a little of its work is left out.
 */
export function mergePlaces(
  findings: readonly WasteFinding[],
  isMostly: (finding: WasteFinding) => boolean,
): WasteFinding[] {
  const byPlace = new Map<string, WasteFinding>();
  for (const finding of findings) {
    const key = placeKey(finding);
    if (key.isVague && !isMostly(finding)) continue;
    const merged = byPlace.get(key.text);
    byPlace.set(
      key.text,
      merged === undefined ? withCaller(finding) : addFinding(merged, withCaller(finding)),
    );
  }
  return [...byPlace.values()].filter(isMostly);
}

/**
 * Keeps the costliest finding of each location; other waste there is added to it as `also`. `findings`: the
 * costliest first.
 */
export function mergeByPlace(findings: readonly WasteFinding[]): WasteFinding[] {
  const byPlace = new Map<string, WasteFinding>();
  for (const finding of findings) {
    const line = lineKey(finding.ips);
    const key = line === undefined ? `${byPlace.size}` : JSON.stringify([finding.object === undefined, line]);
    const first = byPlace.get(key);
    byPlace.set(key, first === undefined ? finding : { ...first, also: first.also ?? finding });
  }
  return [...byPlace.values()];
}

/** Returns a key that is equal for findings to be merged; `isVague`: only the function is known. */
function placeKey({ kind, class: group, ips, partner, isOwn, object }: WasteFinding): {
  text: string;
  isVague: boolean;
} {
  const [ip] = ips;
  const isWhole = object !== undefined && object.fields.length === 0;
  const blocks = object && (isWhole ? "whole" : blocksKey(object));
  const line = lineKey(ips, !isWhole);
  // The instructions with which a library function serves the program's line do not matter.
  const ownGroup = ownPlace<WasteFrame>(ips)?.via === undefined ? group : "any";
  if (ip === undefined || line !== undefined)
    return { text: JSON.stringify([kind, ownGroup, line ?? "outside", blocks]), isVague: false };
  const own = ownPlace<WasteFrame>(ips)?.frame ?? ip;
  if (own.function === undefined || object !== undefined)
    return { text: JSON.stringify([kind, group, ip.address, blocks]), isVague: false };
  const partnerKey =
    isOwn || partner === undefined ? isOwn : (functionOf(partner.ips) ?? partner.ips[0]?.address);
  return { text: JSON.stringify([kind, group, own.function, ip.module, partnerKey]), isVague: true };
}

/**
 * Returns the program's own line and, with `namesVia`, the library function that it called; undefined if no
 * line is known.
 */
function lineKey(ips: readonly WasteIp[], namesVia = true): unknown[] | undefined {
  const own = ownPlace<WasteFrame>(ips);
  const frame = own?.frame ?? ips[0];
  if (frame?.file === undefined) return undefined;
  return [frame.function, frame.file, frame.line, namesVia && own?.via?.function];
}

/** Returns a key that is equal for blocks whose unread members are one finding. */
function blocksKey({ site, fields }: { site: WasteBlocks; fields: readonly unknown[] }): unknown[] {
  return [site.type, site.element, fields];
}

/** Adds the callers of a finding's own location, outwards. */
function withCaller(finding: WasteFinding): WasteFinding {
  const depth = ownPlace<WasteFrame>(finding.ips)?.depth ?? 0;
  const ips = finding.ips.slice(depth + 1);
  return ips.length === 0 ? finding : { ...finding, callers: [{ ips, bytes: finding.bytes }] };
}

function mergeCallers(a: readonly WasteCaller[], b: readonly WasteCaller[]): WasteCaller[] {
  const byCaller = new Map<string, WasteCaller>();
  for (const caller of [...a, ...b]) {
    const [first] = caller.ips;
    const key = first?.file === undefined ? `${first?.address}` : JSON.stringify(lineKey([first]));
    const merged = byCaller.get(key);
    byCaller.set(key, merged === undefined ? caller : { ...merged, bytes: merged.bytes + caller.bytes });
  }
  return [...byCaller.values()].sort((a, b) => b.bytes - a.bytes);
}

function addFinding(a: WasteFinding, b: WasteFinding): WasteFinding {
  const samePartner =
    a.partner !== undefined &&
    b.partner !== undefined &&
    a.isOwn === b.isOwn &&
    isSameFunction(a.partner.ips, b.partner.ips);
  const [more, less] = a.bytes >= b.bytes ? [a, b] : [b, a];
  const heaviest = more.partner === undefined ? less : more;
  const isCounted = a.wasted !== undefined && b.wasted !== undefined;
  const operations = a.operations + b.operations;
  const whole = a.bytes / a.share + b.bytes / b.share;
  return {
    ...more,
    places: isNamedLine(more) ? 1 : a.places + b.places,
    callers: mergeCallers(a.callers, b.callers),
    bytes: a.bytes + b.bytes,
    operations,
    wasted: isCounted ? a.wasted! + b.wasted! : undefined,
    share: isCounted ? (a.wasted! + b.wasted!) / operations : (a.bytes + b.bytes) / whole,
    partner:
      heaviest.partner && samePartner
        ? {
            ips: heaviest.partner.ips,
            bytes: a.partner!.bytes + b.partner!.bytes,
            places: Math.max(a.partner!.places, b.partner!.places),
          }
        : heaviest.partner,
    isOwn: heaviest.isOwn,
    bytesEach: a.bytesEach === b.bytesEach ? a.bytesEach : undefined,
    value:
      a.value === undefined || a.value.value !== b.value?.value
        ? undefined
        : { ...a.value, loads: a.value.loads + b.value.loads, exact: a.value.exact && b.value.exact },
    isInLoop: a.isInLoop && b.isInLoop,
    repeatsItself: a.repeatsItself && b.repeatsItself,
    clearsCleared: a.clearsCleared && b.clearsCleared,
    object: more.object &&
      less.object && { ...more.object, site: addBlocks(more.object.site, less.object.site) },
  };
}

function isNamedLine({ ips }: WasteFinding): boolean {
  return lineKey(ips) !== undefined;
}

function addBlocks(a: WasteBlocks, b: WasteBlocks): WasteBlocks {
  return {
    ...a,
    blocks: a.blocks + b.blocks,
    bytes: a.bytes + b.bytes,
    size: Math.max(a.size, b.size),
    varies: a.varies || b.varies || a.size !== b.size,
    unread_blocks: a.unread_blocks + b.unread_blocks,
    unread_bytes: a.unread_bytes + b.unread_bytes,
    never_read: a.never_read + b.never_read,
    followed: a.followed === undefined ? b.followed : Math.min(a.followed, b.followed ?? a.followed),
  };
}

/** The engine's name for a function without a name. */
const NUMBERED = /^func\[\d+\]$/;

/** True if a reader can recognize the location. */
export function isKnownPlace(ips: readonly WasteIp[]): boolean {
  const frame = ownPlace<WasteFrame>(ips)?.frame ?? ips[0];
  if (frame === undefined) return false;
  const { function: name, file } = frame;
  return file !== undefined || (name !== undefined && !NUMBERED.test(name));
}
