import { ACCESS_BYTES, OPCODE_NAME } from "../../../../code/wasm/index.ts";
import type { WasteClass, WasteValue } from "../../../../profile/model/waste/waste.ts";
import { Load, Store, VALUE_BYTES, VALUES_BYTES, Value } from "../layout.ts";
import { SITE_CLASS_NAMES, type SiteTable } from "../site-table.ts";
import type { SiteInContext } from "./site-paths.ts";
import { has, readCount, type WasteTables } from "./tables.ts";

/** Values that are told of a load. */
export const MOST_VALUES = 3;

/** The commonest values that a redundant load found; `op` is its opcode. */
export function readValues(view: DataView, at: number, op: number): WasteValue[] {
  const values: WasteValue[] = [];
  for (let counter = at; counter < at + VALUES_BYTES; counter += VALUE_BYTES) {
    const error = readCount(view, counter + Value.error);
    const loads = readCount(view, counter + Value.count) - error;
    if (loads > 0) values.push({ value: valueText(view, counter, op), loads, exact: error === 0 });
  }
  return commonest(values);
}

/** As many values as are told, with those of the same value as one; of equally common ones the one that is first in the alphabet. */
export function commonest(values: readonly WasteValue[]): WasteValue[] {
  const byValue = new Map<string, WasteValue>();
  for (const { value, loads, exact } of values) {
    const known = byValue.get(value);
    byValue.set(value, {
      value,
      loads: loads + (known?.loads ?? 0),
      exact: exact && (known?.exact ?? true),
    });
  }
  return [...byValue.values()]
    .sort((a, b) => b.loads - a.loads || (a.value < b.value ? -1 : 1))
    .slice(0, MOST_VALUES);
}

/** The value as the load's type has it: signed integers in decimal, floats, vectors in hexadecimal. */
function valueText(view: DataView, at: number, op: number): string {
  const name = OPCODE_NAME[op] ?? "";
  const bytes = ACCESS_BYTES[op] ?? 0;
  if (name === "f32.load") return floatText(view.getFloat32(at, true));
  if (name === "f64.load") return floatText(view.getFloat64(at, true));
  const low = view.getBigUint64(at, true);
  if (name.startsWith("v128") || bytes > 8) {
    const all = (view.getBigUint64(at + Value.upper, true) << 64n) | low;
    return `0x${all.toString(16).padStart(bytes * 2, "0")}`;
  }
  const isUnsigned = name.endsWith("_u") || name.includes(".rmw");
  return String(isUnsigned ? low : BigInt.asIntN(bytes * 8, low));
}

function floatText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/** Figures of a store site in one context. */
export interface StoreFigures {
  /** Code offsets, innermost first. */
  path: number[];
  siteClass: WasteClass;
  /** It accesses its function's own frame, at a constant place. */
  isFrame: boolean;
  /** It stores where its basic block has loaded from before. */
  isUpdate: boolean;
  stores: number;
  /** Stores at least to the place that the same run of a loop had stored to before; undefined: nobody knows. */
  again?: number | undefined;
  written: number;
  read: number;
  overwritten: number;
  deallocated: number;
  exit: number;
  hostRead: number;
  /** Those of them that nobody had read by the end, when the host could still look. */
  visibleAtExit: number;
  silent: number;
  silentBytes: number;
  same: number;
  overZero: number;
  approximate: number;
  /** Floats in vectors that were there already, exactly or nearly. */
  lanes: number;
  /** Bytes of data segments that were as the module brought them along. */
  overSegment: number;
}

export interface LoadFigures {
  path: number[];
  siteClass: WasteClass;
  isFrame: boolean;
  loads: number;
  bytes: number;
  silent: number;
  /** Loads at least of the place that the same run of a loop had loaded before; undefined: nobody knows. */
  again?: number | undefined;
  redundant: number;
  redundantBytes: number;
  zeroBytes: number;
  approximate: number;
  /** The commonest values of its redundant loads. */
  values: WasteValue[];
}

/** What figures are made of, besides records. */
export interface FigureSources {
  tables: WasteTables;
  sites: SiteTable;
  /** A bit per site that accesses a place in its function's own frame. */
  frames: Uint8Array;
  /** A bit per site that stores where its basic block has loaded from before. */
  updates: Uint8Array;
  /** How often the loop has begun in all whose trips a load site loads from one place. */
  begun: ReadonlyMap<number, number>;
  /** Bytes by store key that nobody has read, and that were read as far as that is counted by id. */
  unread: ReadonlyMap<number, number>;
  read: ReadonlyMap<number, number>;
  /** Bytes that are unread now count as read by the host. */
  exitVisible: boolean;
}

/** Reads 64-bit counts of a record. Summary mode keeps the first fields only. */
function recordReader({ tables: { view, description } }: FigureSources, at: number) {
  const count = (field: number): number => readCount(view, at + field);
  const isPrecise = description.engine === "full";
  return { count, precise: (field: number): number => (isPrecise ? count(field) : 0) };
}

/** The figures of a store; undefined: it did not run. */
export function storeFigures(sources: FigureSources, one: SiteInContext): StoreFigures | undefined {
  const { tables, sites, frames, unread, exitVisible } = sources;
  const { key, site, path, at, runs, events } = one;
  const { count, precise } = recordReader(sources, at);
  const counted = count(Store.stores) + runs;
  if (counted === 0) return undefined;
  // Summary mode counts operations of one size only: their bytes follow.
  const isSummary = tables.description.engine === "brief";
  const size = isSummary ? sites.bytes[site] : 0;
  const silent = count(Store.silent) + events;
  const left = unread.get(key) ?? 0;
  const deallocated = count(Store.deallocated);
  const read = count(Store.read) + (sources.read.get(key) ?? 0);
  const toldRead = count(Store.hostRead);
  const begun = sources.begun.get(site);
  // A trap may have left a run uncounted: its bytes tell of it.
  const told = deallocated + left + toldRead + read;
  const stores = size === 0 ? counted : Math.max(counted, Math.ceil(told / size));
  const written = size === 0 ? count(Store.written) : stores * size;
  return {
    path,
    siteClass: SITE_CLASS_NAMES[sites.siteClass[site]],
    isFrame: has(frames, site),
    isUpdate: has(sources.updates, site),
    stores,
    ...(begun === undefined ? {} : { again: Math.max(0, stores - begun) }),
    written,
    read,
    // Summary mode does not count what is overwritten: it is what is left.
    overwritten: isSummary ? written - deallocated - toldRead - left - read : count(Store.overwritten),
    deallocated,
    exit: exitVisible ? 0 : left,
    hostRead: toldRead + (exitVisible ? left : 0),
    visibleAtExit: exitVisible ? left : 0,
    silent,
    silentBytes: size === 0 ? count(Store.silentBytes) : silent * size,
    same: precise(Store.same),
    overZero: precise(Store.overZero),
    approximate: precise(Store.approximate),
    lanes: precise(Store.lanes),
    overSegment: precise(Store.overSegment),
  };
}

/** The figures of a load; undefined: it did not run. */
export function loadFigures(sources: FigureSources, one: SiteInContext): LoadFigures | undefined {
  const { tables, sites, frames } = sources;
  const { view, description } = tables;
  const { key, site, path, at, runs, events } = one;
  const { count, precise } = recordReader(sources, at);
  const counted = count(Load.loads) + runs;
  if (counted === 0) return undefined;
  const size = description.engine === "brief" ? sites.bytes[site] : 0;
  const fresh = size === 0 ? 0 : count(Load.fresh) + events;
  const loads = Math.max(counted, fresh);
  const redundant = precise(Load.redundant);
  const begun = sources.begun.get(site);
  return {
    path,
    siteClass: SITE_CLASS_NAMES[sites.siteClass[site]],
    isFrame: has(frames, site),
    loads,
    bytes: size === 0 ? count(Load.bytes) : loads * size,
    silent: size === 0 ? count(Load.silent) : loads - fresh,
    ...(begun === undefined ? {} : { again: Math.max(0, loads - begun) }),
    redundant,
    redundantBytes: precise(Load.redundantBytes),
    zeroBytes: precise(Load.zeroBytes),
    approximate: precise(Load.approximate),
    values: redundant === 0 ? [] : readValues(view, description.values + key * VALUES_BYTES, sites.op[site]),
  };
}

/** Figures of paths. Those of one place without callers are added up. */
export function figuresOf<Figures extends StoreFigures | LoadFigures>(
  paths: readonly SiteInContext[],
  read: (one: SiteInContext) => Figures | undefined,
): Figures[] {
  const all: Figures[] = [];
  const alone = new Map<number, Figures>();
  for (const one of paths) {
    const figures = read(one);
    if (figures === undefined) continue;
    const { path } = figures;
    const known = path.length === 1 ? alone.get(path[0]) : undefined;
    if (known !== undefined) {
      addFigures(known, figures);
      continue;
    }
    if (path.length === 1) alone.set(path[0], figures);
    all.push(figures);
  }
  return all;
}

/** Adds all numbers of some figures to others, and brings the values of both together. */
export function addFigures(to: object, figures: object): void {
  const sums = to as Record<string, unknown>;
  for (const [name, value] of Object.entries(figures))
    if (typeof value === "number") sums[name] = Number(sums[name]) + value;
    else if (name === "values") sums[name] = commonest([...(sums[name] as WasteValue[]), ...value]);
}
