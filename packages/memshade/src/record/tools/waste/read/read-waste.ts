import { ACCESS_BYTES, OPCODE_NAME } from "../../../../code/wasm/index.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { getU64 } from "../../../../ground/bytes/numbers.ts";
import { ByteReader } from "../../../../ground/bytes/reader.ts";
import type { WasteClass, WasteValue } from "../../../../profile/model/waste.ts";
import { type ContextFrame, FrameTables } from "../../../contexts/frames/frame-tables.ts";
import { FRAME_HEADER_BYTES, NOWHERE } from "../../../contexts/layout.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { type WasteDescription, wasteDescription } from "../description.ts";
import { type FramedSites, framedSites } from "../framed-sites.ts";
import {
  Control,
  LOOP_BYTES,
  LOOP_STREAM_BYTES,
  Load,
  Loop,
  OBJECT_SITE_BYTES,
  PAIR_BYTES,
  PATH_BLOCKS_BYTES,
  RECORD_BYTES,
  Store,
  VALUE_BYTES,
  VALUES_BYTES,
  Value,
} from "../layout.ts";
import { begunAt, ShadowIds, wasteBytesTouched } from "../memory-plan.ts";
import { decodeSites, SITE_CLASS_NAMES, type SiteTable } from "../site-table.ts";
import { type ObjectFigures, readObjects } from "./read-objects.ts";
import {
  forgetWriters,
  type PairFigures,
  type ReallocationFigures,
  readBytes,
  readPairs,
  readPlaces,
  readReallocations,
  unreadBytes,
} from "./read-pairs.ts";
import {
  type PathBlocksFigures,
  pathKey,
  readPathBlocks,
  readSitePaths,
  type SiteInContext,
} from "./read-path-blocks.ts";
import { controlWord, hasBit, type WasteTables } from "./tables.ts";

const MOST_VALUES = 3;

/** Returns the most frequent values that a redundant load found. `op` is its opcode. */
function readValues(view: DataView, at: number, op: number): WasteValue[] {
  const values: WasteValue[] = [];
  for (let counter = at; counter < at + VALUES_BYTES; counter += VALUE_BYTES) {
    const error = getU64(view, counter + Value.error);
    const loads = getU64(view, counter + Value.count) - error;
    if (loads > 0) values.push({ value: valueText(view, counter, op), loads, exact: error === 0 });
  }
  return commonest(values);
}

/** Merges equal values, and returns the most frequent ones. Equally frequent ones are sorted alphabetically. */
function commonest(values: readonly WasteValue[]): WasteValue[] {
  const byValue = new Map<string, WasteValue>();
  for (const { value, loads, exact } of values) {
    const earlier = byValue.get(value);
    byValue.set(value, {
      value,
      loads: loads + (earlier?.loads ?? 0),
      exact: exact && (earlier?.exact ?? true),
    });
  }
  return [...byValue.values()]
    .sort((a, b) => b.loads - a.loads || (a.value < b.value ? -1 : 1))
    .slice(0, MOST_VALUES);
}

/** Formats a value by the load's type: signed integers in decimal, floats, vectors in hexadecimal. */
function valueText(view: DataView, at: number, op: number): string {
  const name = OPCODE_NAME[op] ?? "";
  const bytes = ACCESS_BYTES[op] ?? 0;
  if (name === "f32.load") return floatText(view.getFloat32(at, true));
  if (name === "f64.load") return floatText(view.getFloat64(at, true));
  const low = view.getBigUint64(at, true);
  if (name.startsWith("v128") || bytes > 8) {
    const wide = (view.getBigUint64(at + Value.upper, true) << 64n) | low;
    return `0x${wide.toString(16).padStart(bytes * 2, "0")}`;
  }
  const isUnsigned = name.endsWith("_u") || name.includes(".rmw");
  return String(isUnsigned ? low : BigInt.asIntN(bytes * 8, low));
}

function floatText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

export interface StoreFigures {
  /** Code offsets, innermost first. */
  path: number[];
  siteClass: WasteClass;
  /** True if it accesses its function's own frame, at a constant offset. */
  isFrame: boolean;
  /** True if it stores to an address from which its basic block has loaded. */
  isUpdate: boolean;
  stores: number;
  /** Stores to an address to which the same run of a loop had stored before, at least. Undefined if unknown. */
  again?: number | undefined;
  written: number;
  read: number;
  overwritten: number;
  deallocated: number;
  exit: number;
  hostRead: number;
  /** Bytes of `hostRead` that were unread at the end, when the host could still read them. */
  visibleAtExit: number;
  silent: number;
  silentBytes: number;
  same: number;
  overZero: number;
  approximate: number;
  /** Floats in vectors that were exactly or nearly in memory already. */
  lanes: number;
  /** Overwritten bytes of data segments that still had their initial values. */
  overSegment: number;
}

export interface LoadFigures {
  path: number[];
  siteClass: WasteClass;
  isFrame: boolean;
  loads: number;
  bytes: number;
  silent: number;
  /** Loads from an address from which the same run of a loop had loaded before, at least. Undefined if unknown. */
  again?: number | undefined;
  redundant: number;
  redundantBytes: number;
  zeroBytes: number;
  approximate: number;
  values: WasteValue[];
}

interface FigureSources {
  tables: WasteTables;
  sites: SiteTable;
  /** A bit per site: it accesses its function's own frame. */
  frames: Uint8Array;
  /** A bit per site: it stores to an address from which its basic block has loaded. */
  updates: Uint8Array;
  begun: ReadonlyMap<number, number>;
  /** Unread bytes by store key, and read bytes as far as they are counted by id. */
  unread: ReadonlyMap<number, number>;
  read: ReadonlyMap<number, number>;
  exitVisible: boolean;
}

/** Returns readers of 64-bit counts of a record. Summary mode has only the first fields. */
function recordReader({ tables: { view, description } }: FigureSources, at: number) {
  const count = (field: number): number => getU64(view, at + field);
  const isPrecise = description.engine === "full";
  return { count, precise: (field: number): number => (isPrecise ? count(field) : 0) };
}

/** Returns the figures of a store; undefined if it did not run. */
function storeFigures(sources: FigureSources, siteInContext: SiteInContext): StoreFigures | undefined {
  const { tables, sites, frames, unread, exitVisible } = sources;
  const { key, site, path, at, runs, events } = siteInContext;
  const { count, precise } = recordReader(sources, at);
  const counted = count(Store.stores) + runs;
  if (counted === 0) return undefined;
  // Summary mode counts operations of one size only, so their bytes follow.
  const isSummary = tables.description.engine === "brief";
  const size = isSummary ? sites.bytes[site] : 0;
  const silent = count(Store.silent) + events;
  const unreadCount = unread.get(key) ?? 0;
  const deallocated = count(Store.deallocated);
  const read = count(Store.read) + (sources.read.get(key) ?? 0);
  const toldRead = count(Store.hostRead);
  const begun = sources.begun.get(site);
  // A trap may have prevented the count of a run. The bytes then show that it happened.
  const accountedBytes = deallocated + unreadCount + toldRead + read;
  const stores = size === 0 ? counted : Math.max(counted, Math.ceil(accountedBytes / size));
  const written = size === 0 ? count(Store.written) : stores * size;
  return {
    path,
    siteClass: SITE_CLASS_NAMES[sites.siteClass[site]],
    isFrame: hasBit(frames, site),
    isUpdate: hasBit(sources.updates, site),
    stores,
    ...(begun === undefined ? {} : { again: Math.max(0, stores - begun) }),
    written,
    read,
    // Summary mode does not count overwritten bytes. They are the remainder.
    overwritten: isSummary ? written - deallocated - toldRead - unreadCount - read : count(Store.overwritten),
    deallocated,
    exit: exitVisible ? 0 : unreadCount,
    hostRead: toldRead + (exitVisible ? unreadCount : 0),
    visibleAtExit: exitVisible ? unreadCount : 0,
    silent,
    silentBytes: size === 0 ? count(Store.silentBytes) : silent * size,
    same: precise(Store.same),
    overZero: precise(Store.overZero),
    approximate: precise(Store.approximate),
    lanes: precise(Store.lanes),
    overSegment: precise(Store.overSegment),
  };
}

function loadFigures(sources: FigureSources, siteInContext: SiteInContext): LoadFigures | undefined {
  const { tables, sites, frames } = sources;
  const { view, description } = tables;
  const { key, site, path, at, runs, events } = siteInContext;
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
    isFrame: hasBit(frames, site),
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

/** Reads the figures of paths. Paths of one site without callers are added up. */
function figuresOf<Figures extends StoreFigures | LoadFigures>(
  paths: readonly SiteInContext[],
  read: (one: SiteInContext) => Figures | undefined,
): Figures[] {
  const found: Figures[] = [];
  const alone = new Map<number, Figures>();
  for (const siteInContext of paths) {
    const figures = read(siteInContext);
    if (figures === undefined) continue;
    const { path } = figures;
    const earlier = path.length === 1 ? alone.get(path[0]) : undefined;
    if (earlier !== undefined) {
      addFigures(earlier, figures);
      continue;
    }
    if (path.length === 1) alone.set(path[0], figures);
    found.push(figures);
  }
  return found;
}

/** Adds all numbers of `figures` to `to`, and merges their values. */
export function addFigures(to: object, figures: object): void {
  const sums = to as Record<string, unknown>;
  for (const [name, value] of Object.entries(figures))
    if (typeof value === "number") sums[name] = Number(sums[name]) + value;
    else if (name === "values") sums[name] = commonest([...(sums[name] as WasteValue[]), ...value]);
}

export interface WasteContents {
  stores: StoreFigures[];
  loads: LoadFigures[];
  pairs: PairFigures[];
  reallocations: ReallocationFigures[];
  objects: ObjectFigures[];
  blocks: PathBlocksFigures[];
  /** Loops with runs that did not end. */
  openLoops: OpenLoop[];
  outside: number;
  keysLost: number;
  /** Rarely used contexts that are left out, and their accesses. */
  contextsLeft: number;
  accessesLeft: number;
  pairsLost: number;
  /** Upper bound of the touched shadow memory, bytes. */
  shadowBytes: number;
  /** True if the program's memory grew beyond the covered size. */
  grewBeyond: boolean;
  /** Size at which the tool stopped the memory from growing, bytes; undefined if it was not reached. */
  heldAt: number | undefined;
  refused: { times: number; pages: number; covered: number } | undefined;
}

export class WasteReader {
  readonly description: WasteDescription;
  readonly #tables: WasteTables;
  #sites: SiteTable | undefined;
  #frames: FrameReader | undefined;

  /** `further`: the tool's memories with one table each. */
  constructor(
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    further: readonly WebAssembly.Memory[] = [],
  ) {
    const description = wasteDescription(info);
    if (description === undefined) throw new RangeError("the waste tool is not in this module");
    this.description = description;
    this.#tables = { view: new DataView(memory.buffer), further, description };
  }

  /** `exitVisible`: bytes that are unread now count as read by the host. */
  read(exitVisible: boolean): WasteContents {
    const tables = this.#tables;
    const sites = this.#siteTable();
    const { covered, limited, frames, updates = "" } = this.description;
    const framed = this.#frameReader()?.read(tables.view);
    const paths = framed ?? readSitePaths(tables, sites);
    // Only precise mode uses paths for pairs and objects.
    const isPrecise = this.description.engine === "full";
    const [storePaths, loadPaths] = [paths.stores, paths.loads].map((found) =>
      pathsOf(isPrecise ? found : []),
    );
    const places = readPlaces(tables);
    const sources: FigureSources = {
      tables,
      sites,
      frames: bytesOfBase64(frames),
      updates: bytesOfBase64(updates),
      unread: unreadBytes(tables),
      read: readBytes(tables),
      begun: readBegun(tables, sites),
      exitVisible,
    };
    const reached = controlWord(tables, Control.pages) * 65536;
    const times = controlWord(tables, Control.refused);
    return {
      stores: figuresOf(paths.stores, (siteInContext) => storeFigures(sources, siteInContext)),
      loads: figuresOf(paths.loads, (siteInContext) => loadFigures(sources, siteInContext)),
      pairs: readPairs(tables, storePaths, loadPaths, places),
      reallocations: readReallocations(tables, places),
      objects: readObjects(tables, places, { stores: storePaths, loads: loadPaths }, exitVisible),
      blocks: readPathBlocks(tables, exitVisible),
      openLoops: readOpenLoops(tables, sites),
      outside: controlWord(tables, Control.outside),
      keysLost: controlWord(tables, Control.keysLost) + (framed?.accessesLost ?? 0),
      contextsLeft: framed?.contextsLeft ?? 0,
      accessesLeft: framed?.accessesLeft ?? 0,
      pairsLost: controlWord(tables, Control.pairsLost),
      shadowBytes: Math.ceil(Math.min(reached, covered) * wasteBytesTouched(this.description)),
      grewBeyond: reached > covered,
      heldAt: limited && reached === covered ? covered : undefined,
      refused: times === 0 ? undefined : { times, pages: controlWord(tables, Control.asked), covered },
    };
  }

  /** Sets all counts to zero. Bytes that are unread now are charged to no store. */
  reset(): void {
    resetTables(this.#tables);
    this.#frameReader()?.reset(this.#tables.view);
  }

  #siteTable(): SiteTable {
    this.#sites ??= decodeSites(bytesOfBase64(this.description.siteTable));
    return this.#sites;
  }

  #frameReader(): FrameReader | undefined {
    if (this.description.arena !== 0) this.#frames ??= new FrameReader(this.description, this.#siteTable());
    return this.#frames;
  }
}

function pathsOf(sites: readonly SiteInContext[]): Map<number, string> {
  return new Map(sites.map(({ key, path }) => [key, pathKey(path)]));
}

/** Loop with runs that have begun and not ended. Accesses in these runs are not counted. */
export interface OpenLoop {
  path: number[];
  runs: number;
}

export function readOpenLoops({ view, description }: WasteTables, sites: SiteTable): OpenLoop[] {
  const loops: OpenLoop[] = [];
  for (let at = description.loops; at < description.loopsEnd; ) {
    const streams = view.getUint32(at + Loop.streams, true);
    const runs = view.getUint32(at + Loop.open, true);
    const first = view.getUint32(at + Loop.site, true);
    if (runs > 0) loops.push({ path: [...sites.offset.subarray(first, first + streams)], runs });
    at += LOOP_BYTES + streams * LOOP_STREAM_BYTES;
  }
  return loops;
}

/** Returns how often loops began in which an access keeps one address, by the site of the access. */
export function readBegun({ view, description }: WasteTables, sites: SiteTable): Map<number, number> {
  const { repeated, engine } = description;
  const isPrecise = engine === "full";
  const begun = new Map<number, number>();
  if (repeated === undefined) return begun;
  const reader = new ByteReader(bytesOfBase64(repeated));
  for (let groups = reader.u32Leb(); groups > 0; groups--) {
    const group = Array.from({ length: reader.u32Leb() }, () => reader.u32Leb());
    const [first] = group;
    const isStore = sites.store[first] !== 0;
    const key = isStore ? sites.store[first] + (isPrecise ? 1 : ShadowIds.first) - 1 : sites.load[first];
    const count = getU64(view, begunAt(description, key, { isStore, isPrecise }));
    for (const site of group) begun.set(site, count);
  }
  return begun;
}

/** Sets all counts to zero. Bytes that are unread now are charged to no store. */
export function resetTables(tables: WasteTables): void {
  const { view, description } = tables;
  forgetWriters(tables);
  const bytes = new Uint8Array(view.buffer);
  const clear = (from: number, size: number): void => void bytes.fill(0, from, from + size);
  const clearRecords = (from: number, size: number): void => {
    if (description.engine === "brief") clear(from, size);
    else for (let at = from; at < from + size; at += RECORD_BYTES) clearCounts(bytes, at);
  };
  if (description.recordOf !== 0) clear(description.recordOf, (description.lastId + 1) * 4);
  clearRecords(description.stores, description.storeCapacity * 2 ** description.recordShift);
  clearRecords(description.loads, description.loadCapacity * 2 ** description.loadShift);
  bytes.fill(0, description.counters, description.sizes);
  if (description.engine === "full") clear(description.values, description.loadCapacity * VALUES_BYTES);
  clear(description.pairs, description.pairCapacity * PAIR_BYTES);
  clear(description.sites, description.siteCapacity * OBJECT_SITE_BYTES);
  if (description.pathBlocks !== 0) {
    clear(description.pathBlocks, description.pathCapacity * PATH_BLOCKS_BYTES);
    const next = view.getUint32(description.control + Control.fatesNext, true);
    clear(description.fates, Math.max(0, next - description.fates));
    view.setUint32(description.control + Control.fatesNext, 0, true);
  }
}

function clearCounts(bytes: Uint8Array, at: number): void {
  bytes.fill(0, at, at + Store.node).fill(0, at + Store.site + 4, at + RECORD_BYTES);
}

/** Most sites in contexts of each kind in a report, which bounds the size of waste.json. */
const MOST_IN_CONTEXT = 65_536;
const COUNT = 0;

/** Site in a frame, before it is decided whether its context is reported. */
interface FramedSite extends Omit<SiteInContext, "path" | "events"> {
  node: number;
  count: number;
}

interface FramedContents {
  stores: SiteInContext[];
  loads: SiteInContext[];
  /** Accesses counted without their context, because the tables were full. */
  accessesLost: number;
  /** Contexts that are left out of the report, and their accesses. */
  contextsLeft: number;
  accessesLeft: number;
}

class FrameReader {
  readonly #description: WasteDescription;
  readonly #sites: SiteTable;
  readonly #framed: FramedSites;
  readonly #inline: Uint8Array;
  readonly #leaders: Uint8Array;
  readonly #tables: FrameTables;
  /** Extra sites of functions that hand out zeroed blocks, by defined function. */
  readonly #zeroing = new Map<number, number[]>();

  constructor(description: WasteDescription, sites: SiteTable) {
    const { arena, nodes, slots = "" } = description;
    this.#description = description;
    this.#sites = sites;
    this.#framed = framedSites(sites);
    this.#inline = bytesOfBase64(description.inline);
    this.#leaders = bytesOfBase64(description.leaders);
    this.#tables = new FrameTables({ arena, nodes, slots: bytesOfBase64(slots) });
    sites.zeroing.forEach((defined, i) => {
      const site = sites.length - sites.zeroing.length + i;
      this.#zeroing.set(defined, [...(this.#zeroing.get(defined) ?? []), site]);
    });
  }

  /** Returns all sites that ran. The `most` most frequent stores and loads have their contexts, the others none. */
  read(view: DataView, most = MOST_IN_CONTEXT): FramedContents {
    const [stores, loads]: FramedSite[][] = [[], []];
    for (const frame of this.#frames(view)) this.#readFrame(view, frame, stores, loads);
    const contents: FramedContents = {
      stores: [],
      loads: [],
      accessesLost: 0,
      contextsLeft: 0,
      accessesLeft: 0,
    };
    contents.stores = this.#chooseContexts(view, stores, most, contents);
    contents.loads = this.#chooseContexts(view, loads, most, contents);
    return contents;
  }

  #chooseContexts(
    view: DataView,
    sites: FramedSite[],
    most: number,
    contents: FramedContents,
  ): SiteInContext[] {
    const { offset, bytes } = this.#sites;
    const weight = ({ site, count }: FramedSite): number => count * Math.max(bytes[site], 1);
    const isTold = (framedSite: FramedSite): boolean => framedSite.node !== 0 && framedSite.node !== NOWHERE;
    let least = 0;
    if (sites.length > most) {
      const weights = Float64Array.from(sites.filter(isTold), weight).sort();
      // Sites that tie with the first one without room lose their contexts too, so that the choice is not arbitrary.
      if (weights.length > most) least = weights[weights.length - most - 1];
    }
    const pathOf = new Map<number, number[]>([[NOWHERE, []]]);
    return sites.map((framedSite) => {
      const { key, site, at, runs, node, count } = framedSite;
      if (node === NOWHERE) contents.accessesLost += count;
      if (isTold(framedSite) && weight(framedSite) <= least) {
        contents.contextsLeft++;
        contents.accessesLeft += count;
        return { key, site, path: [offset[site]], at, runs, events: 0 };
      }
      let callers = pathOf.get(node);
      if (callers === undefined) {
        callers = this.#tables.callers(view, node);
        pathOf.set(node, callers);
      }
      return { key, site, path: [offset[site], ...callers], at, runs, events: 0 };
    });
  }

  reset(view: DataView): void {
    const bytes = new Uint8Array(view.buffer);
    for (const { address, bytes: end } of this.#frames(view))
      bytes.fill(0, address + FRAME_HEADER_BYTES, address + end);
  }

  #frames(view: DataView): Iterable<ContextFrame> {
    return this.#tables.frames(view, view.getUint32(this.#description.control + Control.frameNext, true));
  }

  #readFrame(
    view: DataView,
    { address, defined, node }: ContextFrame,
    toStores: FramedSite[],
    toLoads: FramedSite[],
  ): void {
    const { firstOfFunction } = this.#sites;
    const { stores, recordShift } = this.#description;
    const records = address + FRAME_HEADER_BYTES;
    const add = (to: FramedSite[], site: number, at: number, runs: number): void => {
      const count = getU64(view, at + COUNT) + runs;
      if (count > 0) to.push({ key: (at - stores) / 2 ** recordShift, site, at, runs, node, count });
    };
    const [first, end] = [firstOfFunction[defined], firstOfFunction[defined + 1]];
    let ofBlock = 0;
    const readSite = (site: number): void => {
      const [store, load] = [this.#framed.store[site], this.#framed.load[site]];
      let runs = 0;
      if (hasBit(this.#inline, site)) {
        // A block's runs are counted in the record of its first site, as the site's own.
        if (hasBit(this.#leaders, site)) ofBlock = getU64(view, records + (store >= 0 ? store : load));
        else runs = ofBlock;
      }
      if (store >= 0) add(toStores, site, records + store, runs);
      if (load >= 0) add(toLoads, site, records + load, runs);
    };
    for (let site = first; site < end; site++) readSite(site);
    for (const site of this.#zeroing.get(defined) ?? []) readSite(site);
  }
}
