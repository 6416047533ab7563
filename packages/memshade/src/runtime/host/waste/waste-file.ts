import type { InstrumentedInfo } from "../../../instrument/index.ts";
import {
  WASTE_SCHEMA,
  WASTE_VERSION,
  type WasteField,
  type WasteFile,
  type WasteFileOptions,
  type WasteIp,
  type WasteLoad,
  type WasteObjects,
  type WastePair,
  type WasteStore,
} from "../../../model/waste.ts";
import { ModuleFunctions } from "../module-functions.ts";
import type { LinesOf } from "../tool-session.ts";
import {
  type LoadFigures,
  type ObjectFigures,
  type PairFigures,
  pathKey,
  type StoreFigures,
  type WasteContents,
} from "./read-waste.ts";

/** Distance between two modules in the profile's address space. */
const MODULE_SPAN = 2 ** 32;

/** What was recorded of one module: the contents of each of its instances. */
export interface ModuleContents {
  index: number;
  info: InstrumentedInfo;
  /** Bytes of the module before it was instrumented. */
  original: Uint8Array;
  contents: readonly WasteContents[];
}

/** The contents of waste.json. Instances of one module are added up. */
export function wasteFile(
  command: readonly string[],
  options: WasteFileOptions,
  modules: readonly ModuleContents[],
  linesOf?: LinesOf,
): WasteFile {
  const stores: WasteStore[] = [];
  const loads: WasteLoad[] = [];
  const pairs: WastePair[] = [];
  const objects: WasteObjects[] = [];
  const notTracked: string[] = [];
  const isFull = options.engine === "full";
  for (const { index, info, original, contents } of modules) {
    const ipsOf = locator(index, original, linesOf);
    const storeAt = new Map<string, number>();
    const loadAt = new Map<string, number>();
    for (const figures of merge(contents.map((c) => c.stores)))
      storeAt.set(pathKey(figures.path), stores.push(storeOf(figures, ipsOf(figures.path), isFull)) - 1);
    for (const figures of merge(contents.map((c) => c.loads)))
      loadAt.set(pathKey(figures.path), loads.push(loadOf(figures, ipsOf(figures.path), isFull)) - 1);
    pairs.push(...pairsOf(contents, storeAt, loadAt));
    for (const figures of mergeObjects(contents)) objects.push(objectsOf(figures, ipsOf([figures.site])));
    notTracked.push(...ownSentences(info), ...sentencesOf(contents));
  }
  stores.forEach((store, first) => {
    if (isFull && store.dead_exit > 0)
      pairs.push({ kind: "exit", first, bytes: store.dead_exit, operations: 1 });
  });
  pairs.sort((a, b) => b.bytes - a.bytes);
  const sum = <T>(of: readonly T[], figure: (one: T) => number): number =>
    of.reduce((total, one) => total + figure(one), 0);
  return {
    schema: WASTE_SCHEMA,
    version: WASTE_VERSION,
    command: command.join(" "),
    options,
    totals: {
      bytesWritten: sum(stores, (s) => s.bytes_written),
      bytesRead: sum(stores, (s) => s.bytes_read),
      deadOverwritten: sum(stores, (s) => s.dead_overwritten),
      deadDeallocated: sum(stores, (s) => s.dead_deallocated),
      deadExit: sum(stores, (s) => s.dead_exit),
      hostAssumedRead: sum(stores, (s) => s.host_assumed_read),
      stores: sum(stores, (s) => s.nof_stores),
      silentStores: sum(stores, (s) => s.nof_silent),
      loads: sum(loads, (l) => l.nof_loads),
      bytesLoaded: sum(loads, (l) => l.bytes_loaded),
      silentLoads: sum(loads, (l) => l.nof_silent),
    },
    stores,
    loads,
    ...(isFull ? { pairs } : {}),
    ...(options.objects ? { objects } : {}),
    notTracked,
  };
}

function storeOf(figures: StoreFigures, ips: WasteIp[], isFull: boolean): WasteStore {
  const { overwritten, deallocated, exit, hostRead } = figures;
  return {
    ips,
    bytes_written: figures.written,
    bytes_read: figures.read + hostRead,
    nof_stores: figures.stores,
    nof_silent: figures.silent,
    bytes_dead: overwritten + deallocated + exit,
    dead_overwritten: overwritten,
    dead_deallocated: deallocated,
    dead_exit: exit,
    bytes_silent: figures.silentBytes,
    host_assumed_read: hostRead,
    ...(isFull
      ? {
          bytes_same: figures.same,
          silent_over_zero: figures.overZero,
          silent_approximate: figures.approximate,
        }
      : {}),
    class: figures.siteClass,
  };
}

function loadOf(figures: LoadFigures, ips: WasteIp[], isFull: boolean): WasteLoad {
  return {
    ips,
    nof_loads: figures.loads,
    nof_silent: figures.silent,
    bytes_loaded: figures.bytes,
    ...(isFull
      ? {
          nof_redundant: figures.redundant,
          bytes_redundant: figures.redundantBytes,
          nof_approximate: figures.approximate,
          bytes_zero: figures.zeroBytes,
        }
      : {}),
    class: figures.siteClass,
  };
}

/** Adds up figures of equal paths, in the order of paths: numbers compared one by one, shorter before longer. */
function merge<T extends { path: number[] }>(instances: readonly (readonly T[])[]): T[] {
  const merged = new Map<string, T>();
  for (const figures of instances.flat()) {
    const key = pathKey(figures.path);
    const known = merged.get(key) as Record<string, unknown> | undefined;
    if (known === undefined) {
      merged.set(key, { ...figures });
      continue;
    }
    for (const [name, value] of Object.entries(figures))
      if (typeof value === "number") known[name] = (known[name] as number) + value;
  }
  return [...merged.values()].sort((a, b) => comparePaths(a.path, b.path));
}

function comparePaths(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** Gives code locations their functions, files and lines. */
function locator(
  module: number,
  original: Uint8Array,
  linesOf: LinesOf | undefined,
): (path: readonly number[]) => WasteIp[] {
  const functions = new ModuleFunctions(original);
  const placeAt = linesOf?.(original);
  const known = new Map<number, WasteIp>();
  const locate = (offset: number): WasteIp => {
    const [found] = functions.containing([offset]);
    const frame = placeAt?.(offset);
    const name = frame?.function ?? found?.name ?? (found && `function ${found.index}`);
    return {
      address: module * MODULE_SPAN + offset,
      ...(name === undefined ? {} : { function: name }),
      ...(frame?.file === undefined || frame.line === 0 ? {} : { file: frame.file, line: frame.line }),
    };
  };
  return (path) =>
    path.map((offset) => {
      let ip = known.get(offset);
      if (ip === undefined) {
        ip = locate(offset);
        known.set(offset, ip);
      }
      return ip;
    });
}

function pairsOf(
  contents: readonly WasteContents[],
  storeAt: ReadonlyMap<string, number>,
  loadAt: ReadonlyMap<string, number>,
): WastePair[] {
  const merged = new Map<string, PairFigures>();
  for (const pair of contents.flatMap((c) => c.pairs)) {
    const key = [pair.kind, pair.first, pair.origin, pair.second].join("|");
    const known = merged.get(key);
    if (known === undefined) merged.set(key, { ...pair });
    else {
      known.bytes += pair.bytes;
      known.operations += pair.operations;
    }
  }
  return [...merged.values()].map(({ kind, first, origin, second, bytes, operations }) => {
    const at = kind === "redundant" ? loadAt : storeAt;
    const from = first === undefined ? undefined : at.get(first);
    const to = second === undefined ? undefined : at.get(second);
    return {
      kind,
      ...(from === undefined ? {} : { first: from }),
      ...(origin === undefined ? {} : { origin }),
      ...(to === undefined ? {} : { second: to }),
      bytes,
      operations,
    };
  });
}

function mergeObjects(contents: readonly WasteContents[]): ObjectFigures[] {
  const merged = new Map<number, ObjectFigures>();
  for (const figures of contents.flatMap((c) => c.objects)) {
    const known = merged.get(figures.site);
    if (known === undefined) {
      merged.set(figures.site, { ...figures });
      continue;
    }
    const counts = new Float64Array(Math.max(known.counts.length, figures.counts.length));
    known.counts.forEach((count, i) => {
      counts[i] += count;
    });
    figures.counts.forEach((count, i) => {
      counts[i] += count;
    });
    merged.set(figures.site, {
      ...known,
      objects: known.objects + figures.objects,
      bytes: known.bytes + figures.bytes,
      dead: known.dead + figures.dead,
      varies: known.varies || figures.varies || known.size !== figures.size,
      size: Math.max(known.size, figures.size),
      counts,
    });
  }
  return [...merged.values()].sort((a, b) => b.dead - a.dead || b.bytes - a.bytes);
}

function objectsOf(figures: ObjectFigures, ips: WasteIp[]): WasteObjects {
  const { objects, bytes, size, varies, dead, counts } = figures;
  return { ips, objects, bytes, size, varies, bytesDead: dead, fields: fieldsOf(counts) };
}

/** Maximal runs of equal counts, cut at natural alignment: 16, 8, 4, 2 or 1 bytes. */
export function fieldsOf(counts: Float64Array): WasteField[] {
  const length = counts.length / 4;
  const equal = (a: number, b: number): boolean => {
    for (let i = 0; i < 2; i++) if (counts[a * 4 + i] !== counts[b * 4 + i]) return false;
    return true;
  };
  const fields: WasteField[] = [];
  for (let offset = 0; offset < length; ) {
    const isHole = counts[offset * 4] === 0 && counts[offset * 4 + 1] === 0;
    let end = offset + 1;
    while (end < length && equal(offset, end)) end++;
    let size = end - offset;
    if (!isHole) {
      size = 16;
      while (size > 1 && (offset % size !== 0 || offset + size > end)) size /= 2;
    }
    const field: WasteField = { offset, size, reads: 0, writes: 0, dead: 0, silent: 0 };
    for (let at = offset; at < offset + size; at++) {
      field.reads += counts[at * 4];
      field.writes += counts[at * 4 + 1];
      field.dead += counts[at * 4 + 2];
      field.silent += counts[at * 4 + 3];
    }
    fields.push(field);
    offset += size;
  }
  return fields;
}

/** What the waste tool said of the module when it was woven in, without what other tools said. */
function ownSentences({ toolLayouts }: InstrumentedInfo): string[] {
  return String(toolLayouts?.waste?.notTracked ?? "")
    .split("\n")
    .filter((sentence) => sentence !== "");
}

function sentencesOf(contents: readonly WasteContents[]): string[] {
  const sum = (figure: (of: WasteContents) => number): number =>
    contents.reduce((total, of) => total + figure(of), 0);
  const sentences: string[] = [];
  if (contents.some(({ grewBeyond }) => grewBeyond))
    sentences.push("The memory grew beyond what the waste tool follows: its figures are not reliable.");
  const heldAt = contents.find((of) => of.heldAt !== undefined)?.heldAt;
  if (heldAt !== undefined)
    sentences.push(
      `The memory reached ${Math.floor(heldAt / 2 ** 20)} MiB, all that the waste tool can follow, and could not grow further.`,
    );
  const outside = sum((of) => of.outside);
  if (outside > 0)
    sentences.push(`${outside} operations on memory beyond what is followed were not counted.`);
  const lost = sum((of) => of.keysLost);
  if (lost > 0)
    sentences.push(`The tables of calling contexts were full: ${lost} accesses count without their context.`);
  const pairsLost = sum((of) => of.pairsLost);
  if (pairsLost > 0) sentences.push(`The table of pairs was full: ${pairsLost} bytes are in no pair.`);
  return sentences;
}
