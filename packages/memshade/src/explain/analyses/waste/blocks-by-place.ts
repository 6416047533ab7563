import type {
  WasteField,
  WasteIp,
  WasteObjects,
  WasteReallocations,
} from "../../../profile/model/waste/waste.ts";
import { ownPlace } from "../frames/own-place.ts";

/** The blocks of each of the program's own places that allocate, whatever libraries and layers it did so by: most dead bytes first. */
export function objectsByPlace(sites: readonly WasteObjects[]): WasteObjects[] {
  return byPlace(sites, addSites).sort((a, b) => b.bytesDead - a.bytesDead || b.bytes - a.bytes);
}

/** The reallocations of each of the program's own places. */
export function reallocationsByPlace(sites: readonly WasteReallocations[]): WasteReallocations[] {
  return byPlace(sites, (a, b) => ({
    ips: a.moved >= b.moved ? a.ips : b.ips,
    calls: a.calls + b.calls,
    grown: a.grown + b.grown,
    moves: a.moves + b.moves,
    moved: a.moved + b.moved,
  }));
}

function byPlace<T extends { readonly ips: readonly WasteIp[] }>(
  sites: readonly T[],
  add: (a: T, b: T) => T,
): T[] {
  const merged = new Map<string, T>();
  for (const site of sites) {
    const key = placeKey(site.ips);
    const known = merged.get(key);
    merged.set(key, known === undefined ? site : add(known, site));
  }
  return [...merged.values()];
}

function placeKey(ips: readonly WasteIp[]): string {
  const own = ownPlace(ips);
  const ip = ips[own?.depth ?? 0];
  const inlined = ip?.inlined ?? [];
  const around = own === undefined ? [] : inlined.slice(inlined.indexOf(own.frame) + 1);
  return JSON.stringify([
    ip?.address,
    own?.frame.function,
    own?.frame.line,
    around.map((frame) => [frame.function, frame.line]),
  ]);
}

function addSites(a: WasteObjects, b: WasteObjects): WasteObjects {
  const mean = (figure: MeanFigure, weight: "objects" | "bytes"): number | undefined => {
    const [one, other] = [a[figure], b[figure]];
    const whole = a[weight] + b[weight];
    return one === undefined || other === undefined || whole === 0
      ? undefined
      : Math.round(((one * a[weight] + other * b[weight]) / whole) * 1e6) / 1e6;
  };
  const hasOneType = a.type?.name === b.type?.name && a.type?.size === b.type?.size;
  const fields = (hasOneType ? addFields(a.fields, b.fields) : undefined) ?? [];
  const isTail = a.tail === true || b.tail === true;
  return {
    ips: a.bytes >= b.bytes ? a.ips : b.ips,
    objects: a.objects + b.objects,
    bytes: a.bytes + b.bytes,
    peak: a.peak === undefined || b.peak === undefined ? undefined : a.peak + b.peak,
    size: Math.max(a.size, b.size),
    varies: a.varies || b.varies || a.size !== b.size,
    bytesDead: a.bytesDead + b.bytesDead,
    type: hasOneType ? a.type : undefined,
    meanLifetime: mean("meanLifetime", "objects"),
    usefulLifetime: mean("usefulLifetime", "objects"),
    usage: mean("usage", "bytes"),
    usageSpan: mean("usageSpan", "bytes"),
    ratioRead: mean("ratioRead", "bytes"),
    ratioWritten: mean("ratioWritten", "bytes"),
    // Members of a type stand for all of its elements.
    ...(a.type === undefined && b.type === undefined ? offsetFigures(fields, isTail) : {}),
    deadBy: addAccesses(a.deadBy ?? [], b.deadBy ?? [], "store"),
    writtenBy: addAccesses(a.writtenBy ?? [], b.writtenBy ?? [], "store"),
    readBy: addAccesses(a.readBy ?? [], b.readBy ?? [], "load"),
    fields,
    ...(isTail ? { tail: true } : {}),
  };
}

/** Offsets that are accessed in one way only. */
function offsetFigures(
  fields: readonly WasteField[],
  isTail: boolean,
): Pick<WasteObjects, "writeOnlyBytes" | "holeBytes" | "readUnwrittenBytes"> {
  const told = isTail ? fields.slice(0, -1) : fields;
  const bytesWhere = (is: (field: WasteField) => boolean): number =>
    told.reduce((sum, field) => (is(field) ? sum + field.size : sum), 0);
  return {
    writeOnlyBytes: bytesWhere(({ reads, writes }) => reads === 0 && writes > 0),
    holeBytes: bytesWhere(({ reads, writes }) => reads === 0 && writes === 0),
    readUnwrittenBytes: bytesWhere(({ reads, writes }) => reads > 0 && writes === 0),
  };
}

type MeanFigure = "meanLifetime" | "usefulLifetime" | "usage" | "usageSpan" | "ratioRead" | "ratioWritten";
type Accesses<Access extends "store" | "load"> = readonly (Record<Access, number> & { bytes: number })[];

function addAccesses<Access extends "store" | "load">(
  a: Accesses<Access>,
  b: Accesses<Access>,
  access: Access,
): Accesses<Access>[number][] {
  const bytesOf = new Map<number, number>();
  for (const { [access]: index, bytes } of [...a, ...b])
    bytesOf.set(index, (bytesOf.get(index) ?? 0) + bytes);
  return [...bytesOf]
    .sort(([one, bytes], [other, others]) => others - bytes || one - other)
    .map(([index, bytes]) => ({ [access]: index, bytes }) as Accesses<Access>[number]);
}

const COUNTS = ["reads", "writes", "dead", "overwritten", "deallocated", "exit", "silent"] as const;

/** Undefined where the blocks are not divided alike. */
function addFields(a: readonly WasteField[], b: readonly WasteField[]): WasteField[] | undefined {
  const [long, short] = a.length < b.length ? [b, a] : [a, b];
  const sums: WasteField[] = [];
  for (const [i, field] of long.entries()) {
    const other = short[i];
    if (other === undefined) {
      sums.push(field);
      continue;
    }
    if (field.offset !== other.offset || field.size !== other.size || field.name !== other.name)
      return undefined;
    const counts = COUNTS.map((count) => [count, (field[count] ?? 0) + (other[count] ?? 0)] as const);
    const accesses = (field.accesses ?? 0) + (other.accesses ?? 0);
    sums.push({ ...field, ...(Object.fromEntries(counts) as object), accesses });
  }
  return sums;
}
