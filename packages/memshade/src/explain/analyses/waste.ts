import { LINE_BYTES } from "../../ground/bytes/sizes.ts";
import type {
  PairKind,
  WasteField,
  WasteFile,
  WasteIp,
  WasteObjects,
  WasteReallocations,
} from "../../profile/model/waste.ts";
import { ownPlace } from "./frames/own-place.ts";

/** Range of shares, each 0…1. */
type PartRange = readonly [from: number, to: number];

/**
 * Waste of real programs: the middle half of the seventeen of `bench/typical/run.ts`, whose table is in
 * docs/tools/waste.md. Shares are dead bytes of those written, silent stores of all stores, and redundant loads of all
 * loads.
 */
export const TYPICAL_SHARES: Readonly<Record<"dead" | "silent" | "redundant", PartRange>> = {
  dead: [0.07, 0.26],
  silent: [0.15, 0.27],
  redundant: [0.65, 0.76],
};

/** Pair of places of which the second undid, repeated or re-read the work of the first. */
export interface PairRow {
  /** Relation of the two. */
  kind: PairKind;
  /** First place, without the callers shared with the second; empty if it is not in the program. */
  first: readonly WasteIp[];
  /** Pseudo-writer, if the first writer was no store of the program. */
  origin: "init" | "zero" | undefined;
  /** Second place, likewise. */
  second: readonly WasteIp[];
  /** Callers that both share. */
  common: readonly WasteIp[];
  /** Bytes of the pair. */
  bytes: number;
  /** Operations of the second place. */
  operations: number;
  /** Share of all bytes of this kind of pairs, alone and together with the rows before. */
  share: number;
  cumulativeShare: number;
}

/** Kind of pairs in a ranking: dead bytes (of any cause), silent stores or redundant loads. */
export type PairTable = "dead" | "silent" | "redundant";

const TABLE_OF: Readonly<Record<PairKind, PairTable>> = {
  overwritten: "dead",
  deallocated: "dead",
  returned: "dead",
  exit: "dead",
  silent: "silent",
  redundant: "redundant",
};

/** Returns the pairs of one table, most bytes first, with their common callers folded. */
export function rankPairs(file: WasteFile, table: PairTable): PairRow[] {
  const pairs = (file.pairs ?? []).filter(({ kind }) => TABLE_OF[kind] === table);
  const total = pairs.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  return [...pairs]
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ kind, first, origin, second, end, bytes, operations }) => {
      const sites = kind === "redundant" ? file.loads : file.stores;
      const from = first === undefined ? [] : (sites[first]?.ips ?? []);
      const by = second === undefined ? undefined : sites[second]?.ips;
      const to = by ?? (end === undefined ? [] : (file.ends?.[end]?.ips ?? []));
      before += bytes;
      return {
        kind,
        origin,
        ...foldCallers(from, to),
        bytes,
        operations,
        share: total === 0 ? 0 : bytes / total,
        cumulativeShare: total === 0 ? 0 : before / total,
      };
    });
}

/** Removes the common outermost callers of two paths. The places themselves stay. */
export function foldCallers(
  first: readonly WasteIp[],
  second: readonly WasteIp[],
): Pick<PairRow, "first" | "second" | "common"> {
  let common = 0;
  while (
    common < first.length - 1 &&
    common < second.length - 1 &&
    first[first.length - 1 - common]!.address === second[second.length - 1 - common]!.address
  )
    common++;
  return {
    first: first.slice(0, first.length - common),
    second: second.slice(0, second.length - common),
    common: common === 0 ? [] : first.slice(first.length - common),
  };
}

const HOT_PART = 0.9;

/**
 * Computes EfficiencySanitizer's figure for unequally accessed fields of one struct: over neighbouring fields, the sum
 * of ⌊larger ÷ smaller⌋ of their access counts. A divisor of 0 counts as 1.
 */
export function disparityRatio(counts: readonly number[]): number {
  let ratio = 0;
  for (let i = 1; i < counts.length; i++) {
    const [a, b] = [counts[i - 1]!, counts[i]!];
    ratio += Math.floor(Math.max(a, b) / Math.max(Math.min(a, b), 1));
  }
  return ratio;
}

/** Cost of a type's field order. */
export interface FieldOrder {
  /** Inequality of accesses to neighbouring members: the figure of EfficiencySanitizer. */
  disparity: number;
  /** Accesses to all members. */
  accesses: number;
  /** Members with nine tenths of the accesses, the hottest first, and their bytes. */
  hot: readonly WasteField[];
  hotBytes: number;
  /**
   * Lines of 64 bytes that contain hot fields of an object (assumed to be aligned to a line), now and with hot fields
   * moved together.
   */
  lines: { before: number; after: number };
}

/** Computes the cost of a type's field order; undefined if the type is unknown or nothing was accessed. */
export function fieldOrder(site: WasteObjects): FieldOrder | undefined {
  const { type } = site;
  if (type === undefined) return undefined;
  const fields = site.fields.filter(({ name }) => name !== undefined);
  const counts = fields.map((field) => field.accesses ?? 0);
  const accesses = counts.reduce((sum, count) => sum + count, 0);
  if (accesses === 0) return undefined;
  const hot: WasteField[] = [];
  let covered = 0;
  for (const field of [...fields].sort((a, b) => (b.accesses ?? 0) - (a.accesses ?? 0))) {
    if (covered >= HOT_PART * accesses) break;
    hot.push(field);
    covered += field.accesses ?? 0;
  }
  const hotBytes = hot.reduce((sum, { size }) => sum + size, 0);
  const touched = new Set<number>();
  for (const { offset, size } of hot)
    for (let line = Math.floor(offset / LINE_BYTES); line * LINE_BYTES < offset + size; line++)
      touched.add(line);
  return {
    disparity: disparityRatio(counts),
    accesses,
    hot,
    hotBytes,
    lines: { before: touched.size, after: Math.ceil(hotBytes / LINE_BYTES) },
  };
}

/**
 * Returns the blocks of each of the program's own allocation places, across libraries and layers: most dead bytes
 * first.
 */
export function objectsByPlace(sites: readonly WasteObjects[]): WasteObjects[] {
  return byPlace(sites, addSites).sort((a, b) => b.bytesDead - a.bytesDead || b.bytes - a.bytes);
}

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
    const existing = merged.get(key);
    merged.set(key, existing === undefined ? site : add(existing, site));
  }
  return [...merged.values()];
}

function placeKey(ips: readonly WasteIp[]): string {
  const own = ownPlace(ips);
  const ip = ips[own?.depth ?? 0];
  const inlined = ip?.inlined ?? [];
  const enclosing = own === undefined ? [] : inlined.slice(inlined.indexOf(own.frame) + 1);
  return JSON.stringify([
    ip?.address,
    own?.frame.function,
    own?.frame.line,
    enclosing.map((frame) => [frame.function, frame.line]),
  ]);
}

function addSites(a: WasteObjects, b: WasteObjects): WasteObjects {
  const mean = (figure: MeanFigure, weight: "objects" | "bytes"): number | undefined => {
    const [meanA, meanB] = [a[figure], b[figure]];
    const whole = a[weight] + b[weight];
    return meanA === undefined || meanB === undefined || whole === 0
      ? undefined
      : Math.round(((meanA * a[weight] + meanB * b[weight]) / whole) * 1e6) / 1e6;
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
    // Members of a type represent all of its elements.
    ...(a.type === undefined && b.type === undefined ? offsetFigures(fields, isTail) : {}),
    deadBy: addAccesses(a.deadBy ?? [], b.deadBy ?? [], "store"),
    writtenBy: addAccesses(a.writtenBy ?? [], b.writtenBy ?? [], "store"),
    readBy: addAccesses(a.readBy ?? [], b.readBy ?? [], "load"),
    fields,
    ...(isTail ? { tail: true } : {}),
  };
}

/** Returns the number of offsets that are accessed in only one way. */
function offsetFigures(
  fields: readonly WasteField[],
  isTail: boolean,
): Pick<WasteObjects, "writeOnlyBytes" | "holeBytes" | "readUnwrittenBytes"> {
  const singleOffsets = isTail ? fields.slice(0, -1) : fields;
  const bytesWhere = (is: (field: WasteField) => boolean): number =>
    singleOffsets.reduce((sum, field) => (is(field) ? sum + field.size : sum), 0);
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
    .sort(([indexA, bytes], [indexB, otherBytes]) => otherBytes - bytes || indexA - indexB)
    .map(([index, bytes]) => ({ [access]: index, bytes }) as Accesses<Access>[number]);
}

const COUNTS = ["reads", "writes", "dead", "overwritten", "deallocated", "exit", "silent"] as const;

/** Adds two lists of fields; undefined if the blocks are divided differently. */
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
