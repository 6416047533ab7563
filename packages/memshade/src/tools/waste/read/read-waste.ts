import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { eachIndexEntry } from "../../../contexts/frames/index-table.ts";
import { IndexEntry, IndexKind, NODE_BYTES, Node } from "../../../contexts/layout.ts";
import type { PairKind, WasteClass, WasteValue } from "../../../model/waste/waste.ts";
import { decodeModule, type WasmModule } from "../../../wasm/index.ts";
import {
  BriefIds,
  findCallSites,
  findSites,
  framedSites,
  type InstrumentedInfo,
  READ_BYTE,
  SITE_CLASS_NAMES,
  SITE_COUNTERS_BYTES,
  SITE_EVENTS,
  type SiteTable,
  type WasteLayout,
  WORD_TABLES,
  zeroingFunctions,
} from "../../index.ts";
import {
  Control,
  GREW,
  Load,
  MOVED,
  OBJECT_SITE_BYTES,
  PAIR_BYTES,
  Pair,
  READS_BYTES,
  RECORD_BYTES,
  Store,
  VALUES_BYTES,
} from "../layout.ts";
import { BlockRuns } from "./block-runs.ts";
import { transitivelyDead } from "./read-copies.ts";
import { FrameReader } from "./read-frames.ts";
import { type ObjectFigures, readObjects } from "./read-objects.ts";
import { commonest, readValues } from "./read-values.ts";
import { has, readCount } from "./tables.ts";

const PAIR_KINDS = new Map<number, PairKind>(
  (["overwritten", "deallocated", "returned", "silent", "redundant"] as const).map((kind) => [
    Pair[kind],
    kind,
  ]),
);
const KEY_MASK = 0x3fffffff;
const UNREAD = 1;

/** Figures of a store site in one context. */
export interface StoreFigures {
  /** Code offsets, innermost first. */
  path: number[];
  siteClass: WasteClass;
  /** It accesses its function's own frame, at a constant place. */
  isFrame: boolean;
  stores: number;
  written: number;
  read: number;
  overwritten: number;
  deallocated: number;
  exit: number;
  hostRead: number;
  silent: number;
  silentBytes: number;
  same: number;
  overZero: number;
  approximate: number;
  /** Bytes that only copies read which are dead themselves. */
  transitive: number;
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
  redundant: number;
  redundantBytes: number;
  zeroBytes: number;
  approximate: number;
  /** The commonest values of its redundant loads. */
  values: WasteValue[];
}

/** A pair of paths; undefined: no store or load of the program. */
export interface PairFigures {
  kind: PairKind;
  first: string | undefined;
  origin: "init" | "zero" | undefined;
  second: string | undefined;
  /** The place that freed a block or ended a frame; undefined where it is not known. */
  end: number[] | undefined;
  bytes: number;
  operations: number;
}

/** Reallocations of one place. */
export interface ReallocationFigures {
  /** Code offsets, innermost first; empty where the place is not known. */
  path: number[];
  calls: number;
  /** Bytes that blocks grew by. */
  grown: number;
  /** How often the block got a new place, and bytes that were copied there. */
  moves: number;
  moved: number;
}

export interface WasteContents {
  stores: StoreFigures[];
  loads: LoadFigures[];
  pairs: PairFigures[];
  reallocations: ReallocationFigures[];
  objects: ObjectFigures[];
  outside: number;
  keysLost: number;
  /** Seldom used contexts that are left out, and the accesses that they had. */
  contextsLeft: number;
  accessesLeft: number;
  pairsLost: number;
  copiesLost: number;
  /** Whether the program's memory grew beyond what is followed. */
  grewBeyond: boolean;
  /** Bytes at which it was kept from growing; undefined: it did not get there. */
  heldAt: number | undefined;
  /** Bytes beyond which a request for more memory failed because of what can be followed; undefined: none did. */
  refusedBeyond: number | undefined;
}

export interface WasteToolLayout extends WasteLayout {
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  followsCopies: boolean;
  compat: string;
  limited: boolean;
  inline: string;
  leaders: string;
  /** A bit per leader: the runs of its block follow from those of others. */
  implied: string;
  /** A bit per function that always comes back to its caller. */
  returning: string;
  frames: string;
  /** A bit per call: it has a slot in its function's frames; it keeps the context. Absent without frames. */
  slots?: string;
  keeps?: string;
}

/** A word per byte of the program's memory; empty where the tool has none. */
export type WasteWords = Readonly<Record<(typeof WORD_TABLES)[number], Uint32Array>>;

const NO_WORDS = new Uint32Array(0);

/** A site in one context, and where it is counted. */
export interface SiteInContext {
  key: number;
  site: number;
  /** Code offsets, innermost first. */
  path: number[];
  /** Address of its record. */
  at: number;
  /** How often it ran inline, besides what the record has, and how often it was silent there, or a load of unread bytes. */
  runs: number;
  events: number;
}

/** Key of a path in maps. */
export function pathKey(path: readonly number[]): string {
  return path.join();
}

/** Reads the waste tool's memory of one instance. */
export class WasteReader {
  readonly #memory: WebAssembly.Memory;
  readonly #tables: readonly WebAssembly.Memory[];
  readonly #layout: WasteToolLayout;
  readonly #info: InstrumentedInfo;
  readonly #original: () => Uint8Array;
  #sites: SiteTable | undefined;
  #frames: FrameReader | undefined;
  #blockRuns: BlockRuns | undefined;

  /** `tables`: its further memories. */
  constructor(
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: () => Uint8Array,
    tables: readonly WebAssembly.Memory[] = [],
  ) {
    this.#memory = memory;
    this.#tables = tables;
    this.#layout = info.toolLayouts?.waste as unknown as WasteToolLayout;
    this.#info = info;
    this.#original = original;
  }

  get layout(): WasteToolLayout {
    return this.#layout;
  }

  /** `exitVisible`: bytes that are unread now count as read by the host. */
  read(exitVisible: boolean): WasteContents {
    const layout = this.#layout;
    const view = new DataView(this.#memory.buffer);
    const control = (field: number): number => view.getUint32(layout.control + field, true);
    const sites = this.#siteTable();
    const framed = layout.arena === 0 ? undefined : this.#framed(sites).read(view);
    const storePaths = framed?.stores ?? this.#paths(view, sites, "store");
    const loadPaths = framed?.loads ?? this.#paths(view, sites, "load");
    const unread = this.#unreadByKey(view, control(Control.pages));
    const reads = this.#readsByKey(view);
    const frames = bytesOfBase64(layout.frames);
    const places = this.#places(view);
    const transitive = layout.followsCopies
      ? transitivelyDead(view, layout, this.#words(this.#coveredNow(view)), exitVisible)
      : new Map<number, number>();

    // Summary mode counts operations of one size only: their bytes follow.
    const isSummary = layout.engine === "brief";
    const stores = new FigureList<StoreFigures>();
    for (const { key, site, path, at, runs, events } of storePaths) {
      const u64 = (field: number): number => readCount(view, at + field);
      // Records of summary mode may be shorter.
      const full = (field: number): number => (isSummary ? 0 : u64(field));
      const counted = u64(Store.stores) + runs;
      if (counted === 0) continue;
      const bytes = isSummary ? sites.bytes[site] : 0;
      const silent = u64(Store.silent) + events;
      const left = unread.get(key) ?? 0;
      const hostRead = u64(Store.hostRead) + (exitVisible ? left : 0);
      const exit = exitVisible ? 0 : left;
      const deallocated = u64(Store.deallocated);
      const readBytes = u64(Store.read) + (reads.get(key) ?? 0);
      // A trap may have left a run uncounted: its bytes tell of it.
      const told = deallocated + left + u64(Store.hostRead) + readBytes;
      const count = bytes === 0 ? counted : Math.max(counted, Math.ceil(told / bytes));
      const written = bytes === 0 ? u64(Store.written) : count * bytes;
      stores.add({
        path,
        siteClass: SITE_CLASS_NAMES[sites.siteClass[site]],
        isFrame: has(frames, site),
        stores: count,
        written,
        read: readBytes,
        // Summary mode does not count what is overwritten: it is what is left.
        overwritten: isSummary
          ? written - deallocated - hostRead - exit - readBytes
          : full(Store.overwritten),
        deallocated,
        exit,
        hostRead,
        silent,
        silentBytes: bytes === 0 ? u64(Store.silentBytes) : silent * bytes,
        same: full(Store.same),
        overZero: full(Store.overZero),
        approximate: full(Store.approximate),
        transitive: full(Store.transitive) + (transitive.get(key) ?? 0),
        lanes: full(Store.lanes),
        overSegment: full(Store.overSegment),
      });
    }
    const loads = new FigureList<LoadFigures>();
    for (const { key, site, path, at, runs, events } of loadPaths) {
      const u64 = (field: number): number => readCount(view, at + field);
      const full = (field: number): number => (isSummary ? 0 : u64(field));
      const counted = u64(Load.loads) + runs;
      if (counted === 0) continue;
      const bytes = isSummary ? sites.bytes[site] : 0;
      const fresh = bytes === 0 ? 0 : u64(Load.fresh) + events;
      const count = Math.max(counted, fresh);
      loads.add({
        path,
        siteClass: SITE_CLASS_NAMES[sites.siteClass[site]],
        isFrame: has(frames, site),
        loads: count,
        bytes: bytes === 0 ? u64(Load.bytes) : count * bytes,
        silent: bytes === 0 ? u64(Load.silent) : count - fresh,
        redundant: full(Load.redundant),
        redundantBytes: full(Load.redundantBytes),
        zeroBytes: full(Load.zeroBytes),
        approximate: full(Load.approximate),
        values:
          isSummary || u64(Load.redundant) === 0
            ? []
            : readValues(view, layout.values + key * VALUES_BYTES, sites.op[site]),
      });
    }
    return {
      stores: stores.all,
      loads: loads.all,
      pairs: this.#pairs(view, pathsOf(storePaths), pathsOf(loadPaths), places),
      reallocations: this.#reallocations(view, places),
      objects:
        layout.siteCapacity === 0
          ? []
          : readObjects(
              { view, layout, words: this.#words(this.#coveredNow(view)) },
              places,
              this.#deadInto(view),
              pathsOf(storePaths),
              exitVisible,
            ),
      outside: control(Control.outside),
      keysLost: control(Control.keysLost) + (framed?.accessesLost ?? 0),
      contextsLeft: framed?.contextsLeft ?? 0,
      accessesLeft: framed?.accessesLeft ?? 0,
      copiesLost: control(Control.copiesLost),
      pairsLost: control(Control.pairsLost),
      grewBeyond: control(Control.pages) * 65536 > layout.covered,
      heldAt:
        layout.limited && control(Control.pages) * 65536 === layout.covered ? layout.covered : undefined,
      refusedBeyond: layout.limited && control(Control.refused) > 0 ? layout.covered : undefined,
    };
  }

  /** Sets all counts to zero; bytes that are unread now belong to nobody. */
  forget(): void {
    const layout = this.#layout;
    const bytes = new Uint8Array(this.#memory.buffer);
    const view = new DataView(this.#memory.buffer);
    const end = this.#coveredNow(view);
    if (layout.engine === "full") {
      const words = this.#words(end).writers;
      for (let i = 0; i < end; i++)
        if (words[i] >>> 30 === UNREAD) words[i] = (words[i] & KEY_MASK) | 0x80000000;
    } else {
      const ids = this.#ids(end);
      for (let i = 0; i < end; i++)
        if (ids[i] >= BriefIds.first && ids[i] < BriefIds.invalid) ids[i] = READ_BYTE;
    }
    const clear = (from: number, end: number): void => {
      if (layout.engine === "brief") bytes.fill(0, from, end);
      else
        for (let at = from; at < end; at += RECORD_BYTES)
          bytes.fill(0, at, at + Store.node).fill(0, at + Store.site + 4, at + RECORD_BYTES);
    };
    if (layout.arena !== 0) this.#framed(this.#siteTable()).forget(view);
    // Neither stores nor records have ids any more.
    if (layout.recordOf !== 0) bytes.fill(0, layout.recordOf, layout.recordOf + (layout.lastId + 1) * 4);
    clear(layout.stores, layout.stores + layout.storeCapacity * 2 ** layout.recordShift);
    clear(layout.loads, layout.loads + layout.loadCapacity * 2 ** layout.loadShift);
    bytes.fill(0, layout.counters, layout.sizes);
    if (layout.engine === "full")
      bytes.fill(0, layout.values, layout.values + layout.loadCapacity * VALUES_BYTES);
    bytes.fill(0, layout.pairs, layout.pairs + layout.pairCapacity * PAIR_BYTES);
    bytes.fill(0, layout.sites, layout.sites + layout.siteCapacity * OBJECT_SITE_BYTES);
  }

  #siteTable(): SiteTable {
    this.#sites ??= findSites(
      decodeModule(this.#original()),
      zeroingFunctions(this.#info.allocator.functions),
    );
    return this.#sites;
  }

  #coveredNow(view: DataView): number {
    const pages = view.getUint32(this.#layout.control + Control.pages, true);
    return Math.min(pages * 65536, this.#layout.covered);
  }

  #framed(sites: SiteTable): FrameReader {
    if (this.#frames === undefined) {
      const module = decodeModule(this.#original());
      const zeroing = zeroingFunctions(this.#info.allocator.functions).map(
        (index) => index - module.importedFunctionCount,
      );
      const framed = framedSites(sites, zeroing);
      this.#frames = new FrameReader(
        this.#layout,
        sites,
        framed,
        this.#runsOfBlocks(module, sites),
        findCallSites(module),
      );
    }
    return this.#frames;
  }

  /** Keys in use with their site and path, in the order of the sites. */
  #paths(view: DataView, sites: SiteTable, which: "store" | "load"): SiteInContext[] {
    const layout = this.#layout;
    const { runs, events } = this.#counted(view, sites);
    const table = which === "store" ? layout.stores : layout.loads;
    const recordBytes = 2 ** (which === "store" ? layout.recordShift : layout.loadShift);
    const shift = layout.engine === "brief" && which === "store" ? BriefIds.first - 1 : 0;
    const siteOf: number[] = [];
    const paths: SiteInContext[] = [];
    const add = (key: number, site: number, path: number[]) =>
      paths.push({ key, site, path, at: table + key * recordBytes, runs: runs[site], events: events[site] });
    for (let site = 0; site < sites.length; site++) {
      const number = sites[which][site];
      if (number === 0) continue;
      siteOf[number] = site;
      add(number + shift, site, [sites.offset[site]]);
    }
    if (!layout.contexts) return paths;
    const field = which === "store" ? Control.storeKeys : Control.loadKeys;
    const first = which === "store" ? sites.stores : sites.loads;
    const count = view.getUint32(layout.control + field, true);
    for (let key = first + 1; key <= first + count; key++) {
      const at = table + key * recordBytes;
      const site = siteOf[view.getUint32(at + Store.site, true)];
      if (site === undefined) continue;
      add(key, site, [sites.offset[site], ...this.#callers(view, view.getUint32(at + Store.node, true))]);
    }
    return paths;
  }

  /** Code offsets of the calls that lead to a node of the calling context tree, innermost first. */
  #callers(view: DataView, from: number): number[] {
    const layout = this.#layout;
    const path: number[] = [];
    for (let node = from; node !== 0; ) {
      const at = layout.nodes + node * NODE_BYTES;
      path.push(view.getUint32(at + Node.place, true));
      node = view.getUint32(at + Node.parent, true);
    }
    return path;
  }

  /** Code offsets of the places that allocate, free and return, by key; empty where the place is not known. */
  #places(view: DataView): Map<number, number[]> {
    const layout = this.#layout;
    const places = new Map<number, number[]>();
    if (layout.pairCapacity === 0 && layout.siteCapacity === 0) return places;
    eachIndexEntry(view, layout.index, (at) => {
      const field = (distance: number): number => view.getUint32(at + distance, true);
      if (field(IndexEntry.kind) !== IndexKind.place) return;
      const offset = field(IndexEntry.second);
      const path = offset === 0 ? [] : [offset, ...this.#callers(view, field(IndexEntry.first))];
      places.set(field(IndexEntry.value), path);
    });
    return places;
  }

  /** What was counted of each site inline. */
  #counted(view: DataView, sites: SiteTable): { runs: Float64Array; events: Float64Array } {
    const layout = this.#layout;
    const [runs, events] = [new Float64Array(sites.length), new Float64Array(sites.length)];
    if (layout.engine === "full") return { runs, events };
    const inline = bytesOfBase64(layout.inline);
    const leaders = bytesOfBase64(layout.leaders);
    this.#blockRuns ??= this.#runsOfBlocks(decodeModule(this.#original()), sites);
    for (let site = 0; site < sites.length; site++) {
      if (!has(inline, site)) continue;
      const at = layout.counters + site * SITE_COUNTERS_BYTES;
      runs[site] = readCount(view, at);
      events[site] = readCount(view, at + SITE_EVENTS);
    }
    for (let defined = 0; defined < sites.firstOfFunction.length - 1; defined++)
      this.#blockRuns.complete(defined, runs);
    let count = 0;
    for (let site = 0; site < sites.length; site++) {
      if (!has(inline, site)) continue;
      if (has(leaders, site)) count = runs[site];
      else runs[site] = count;
    }
    return { runs, events };
  }

  #runsOfBlocks(module: WasmModule, sites: SiteTable): BlockRuns {
    const leaders = bytesOfBase64(this.#layout.leaders);
    const returning = bytesOfBase64(this.#layout.returning);
    return new BlockRuns({ module, sites, leaders, returning }, bytesOfBase64(this.#layout.implied));
  }

  /** The tables with a word for each of the first `count` bytes of the program's memory. */
  #words(count: number): WasteWords {
    const layout = this.#layout;
    const table = (name: (typeof WORD_TABLES)[number]): Uint32Array => {
      const own = layout.isSplit ? this.#tables[WORD_TABLES.indexOf(name)] : undefined;
      return new Uint32Array((own ?? this.#memory).buffer, own === undefined ? layout[name] : 0, count);
    };
    const isFull = layout.engine === "full";
    return {
      writers: table("writers"),
      readers: isFull ? table("readers") : NO_WORDS,
      origins: layout.followsCopies ? table("origins") : NO_WORDS,
    };
  }

  /** What summary mode knows of each byte of the program's memory. */
  #ids(count: number): Uint16Array {
    return new Uint16Array(this.#memory.buffer, 0, count);
  }

  /** The key of the store that has an id. */
  #keysOfIds(view: DataView): (id: number) => number {
    const { recordOf, recordShift } = this.#layout;
    return (id) => view.getUint32(recordOf + id * 4, true) / 2 ** recordShift;
  }

  /** Bytes per store key that were read, as far as they are counted by id. */
  #readsByKey(view: DataView): Map<number, number> {
    const found = new Map<number, number>();
    const { engine, reads } = this.#layout;
    if (engine === "full") return found;
    const keyOf = this.#keysOfIds(view);
    for (let id: number = BriefIds.first; id < BriefIds.spilled; id++) {
      const bytes = readCount(view, reads + id * READS_BYTES);
      if (bytes !== 0) found.set(keyOf(id), bytes);
    }
    return found;
  }

  /** Bytes per store key that nobody has read. */
  #unreadByKey(view: DataView, _pages: number): Map<number, number> {
    const layout = this.#layout;
    const end = this.#coveredNow(view);
    const found = new Map<number, number>();
    const add = (key: number) => found.set(key, (found.get(key) ?? 0) + 1);
    if (layout.engine === "full") {
      const words = this.#words(end).writers;
      forEachWritten(words, (i) => {
        if (words[i] >>> 30 === UNREAD && (words[i] & KEY_MASK) !== KEY_MASK) add(words[i] & KEY_MASK);
      });
    } else {
      const counts = new Uint32Array(0x10000);
      const ids = this.#ids(end);
      for (let i = 0; i < end; i++) counts[ids[i]]++;
      const keyOf = this.#keysOfIds(view);
      for (let id: number = BriefIds.first; id < BriefIds.spilled; id++)
        if (counts[id] !== 0) found.set(keyOf(id), counts[id]);
      if (counts[BriefIds.spilled] + counts[BriefIds.spilled + 1] > 0) {
        const { writers } = this.#words(end);
        for (let i = 0; i < end; i++)
          if (ids[i] >= BriefIds.spilled && ids[i] < BriefIds.invalid) add(writers[i]);
      }
    }
    found.delete(0);
    return found;
  }

  /** Dead bytes by their writer's key, by the entry of the allocation site in whose blocks they were. */
  #deadInto(view: DataView): Map<number, Map<number, number>> {
    const { pairs, pairCapacity } = this.#layout;
    const into = new Map<number, Map<number, number>>();
    for (let at = pairs; at < pairs + pairCapacity * PAIR_BYTES; at += PAIR_BYTES) {
      if (view.getUint32(at + 8, true) !== Pair.into) continue;
      const site = view.getUint32(at + 4, true);
      const known = into.get(site) ?? new Map<number, number>();
      into.set(site, known.set(view.getUint32(at, true), readCount(view, at + 16)));
    }
    return into;
  }

  #reallocations(view: DataView, places: ReadonlyMap<number, number[]>): ReallocationFigures[] {
    const { pairs, pairCapacity } = this.#layout;
    const found = new Map<number, ReallocationFigures>();
    for (let at = pairs; at < pairs + pairCapacity * PAIR_BYTES; at += PAIR_BYTES) {
      if (view.getUint32(at + 8, true) !== Pair.reallocated) continue;
      const place = view.getUint32(at, true);
      const path = places.get(place) ?? [];
      const figures = found.get(place) ?? { path, calls: 0, grown: 0, moves: 0, moved: 0 };
      found.set(place, figures);
      const [bytes, operations] = [readCount(view, at + 16), readCount(view, at + 24)];
      const what = view.getUint32(at + 4, true);
      if (what === GREW) Object.assign(figures, { grown: bytes, calls: operations });
      else if (what === MOVED) Object.assign(figures, { moved: bytes, moves: operations });
    }
    return [...found.values()];
  }

  #pairs(
    view: DataView,
    storePaths: ReadonlyMap<number, string>,
    loadPaths: ReadonlyMap<number, string>,
    places: ReadonlyMap<number, number[]>,
  ): PairFigures[] {
    const layout = this.#layout;
    if (layout.pairCapacity === 0) return [];
    const pairs: PairFigures[] = [];
    for (let i = 0; i < layout.pairCapacity; i++) {
      const at = layout.pairs + i * PAIR_BYTES;
      const kind = PAIR_KINDS.get(view.getUint32(at + 8, true));
      if (kind === undefined) continue;
      const [first, second] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
      const paths = kind === "redundant" ? loadPaths : storePaths;
      const isEnd = kind === "deallocated" || kind === "returned";
      const place = isEnd ? places.get(second) : undefined;
      pairs.push({
        kind,
        first: paths.get(first),
        origin:
          kind !== "silent" ? undefined : first === 0 ? "zero" : first === KEY_MASK ? "init" : undefined,
        second: isEnd ? undefined : paths.get(second),
        end: place?.length === 0 ? undefined : place,
        bytes: readCount(view, at + 16),
        operations: readCount(view, at + 24),
      });
    }
    return pairs;
  }
}

/** Visits the words that are not zero, and some that are. Most of a large memory was never written: two are looked at at once. */
function forEachWritten(words: Uint32Array, visit: (index: number) => void): void {
  const pairs = new Float64Array(words.buffer, words.byteOffset, words.length >>> 1);
  for (let pair = 0; pair < pairs.length; pair++) {
    if (pairs[pair] === 0 && words[pair * 2 + 1] === 0) continue;
    visit(pair * 2);
    visit(pair * 2 + 1);
  }
}

/** Figures of paths. Those of one place without callers are added up. */
class FigureList<Figures extends StoreFigures | LoadFigures> {
  readonly all: Figures[] = [];
  readonly #alone = new Map<number, Figures>();

  add(figures: Figures): void {
    const { path } = figures;
    const known = path.length === 1 ? this.#alone.get(path[0]) : undefined;
    if (known !== undefined) {
      addFigures(known, figures);
      return;
    }
    if (path.length === 1) this.#alone.set(path[0], figures);
    this.all.push(figures);
  }
}

/** Adds all numbers of some figures to others, and brings the values of both together. */
export function addFigures(to: object, figures: object): void {
  const sums = to as Record<string, unknown>;
  for (const [name, value] of Object.entries(figures))
    if (typeof value === "number") sums[name] = Number(sums[name]) + value;
    else if (name === "values") sums[name] = commonest([...(sums[name] as WasteValue[]), ...value]);
}

function pathsOf(sites: readonly SiteInContext[]): Map<number, string> {
  return new Map(sites.map(({ key, path }) => [key, pathKey(path)]));
}
