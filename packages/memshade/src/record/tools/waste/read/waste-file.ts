import { type Bound, placeBound, unseenBounds } from "../../../../profile/model/bound.ts";
import { headerBytes } from "../../../../profile/model/collected-objects.ts";
import { agreeing, counted } from "../../../../profile/model/counted.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import {
  MODULE_SPAN,
  WASTE_SCHEMA,
  WASTE_VERSION,
  type WasteBlocks,
  type WasteEnd,
  type WasteFile,
  type WasteFileOptions,
  type WasteIp,
  type WasteLoad,
  type WasteObjects,
  type WastePair,
  type WasteReallocations,
  type WasteStore,
} from "../../../../profile/model/waste/waste.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { sentencesOfTool } from "../../sentences.ts";
import type { LinesOf, TypesOf } from "../../session.ts";
import { layerMembers, placeMembers } from "../../source-places.ts";
import { heldSentence, refusedSentence } from "../memory-limit.ts";
import { blockParts, blocksOf, blocksOfObjects, mergeObjects, objectsOf } from "./blocks-of-paths.ts";
import { addFigures, type LoadFigures, type StoreFigures } from "./figures.ts";
import type { PairFigures } from "./read-pairs.ts";
import { mergePathBlocks } from "./read-path-blocks.ts";
import type { WasteContents } from "./read-waste.ts";
import { pathKey } from "./site-paths.ts";

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
  typesOf?: TypesOf,
): WasteFile {
  const stores: WasteStore[] = [];
  const loads: WasteLoad[] = [];
  const pairs: WastePair[] = [];
  const ends: WasteEnd[] = [];
  const reallocations: WasteReallocations[] = [];
  const objects: WasteObjects[] = [];
  const blocks: WasteBlocks[] = [];
  const said: { name: string; sentences: string[] }[] = [];
  const isPrecise = options.engine === "full";
  for (const { index, info, original, contents } of modules) {
    const ipsOf = locator(index, original, linesOf, new Set(info.allocator.layers));
    const cut = runsCutShort(contents);
    const storeAt = new Map<string, number>();
    const loadAt = new Map<string, number>();
    for (const figures of merge(contents.map((c) => c.stores)))
      storeAt.set(
        pathKey(figures.path),
        stores.push({ ...storeOf(figures, ipsOf(figures.path), options), ...cut.of(figures.path) }) - 1,
      );
    for (const figures of merge(contents.map((c) => c.loads)))
      loadAt.set(
        pathKey(figures.path),
        loads.push({ ...loadOf(figures, ipsOf(figures.path), isPrecise), ...cut.of(figures.path) }) - 1,
      );
    const endAt = new Map<string, number>();
    const endOf = (path: number[]): number => {
      const key = pathKey(path);
      const known = endAt.get(key) ?? ends.push({ ips: ipsOf(path) }) - 1;
      endAt.set(key, known);
      return known;
    };
    // Not as operands of a call: there may be a million.
    for (const pair of pairsOf(contents, storeAt, loadAt, endOf)) pairs.push(pair);
    for (const { path, ...figures } of merge(contents.map((of) => of.reallocations)))
      reallocations.push({ ips: ipsOf(path), ...figures });
    const typeAt = once(() => typesOf?.(original));
    const header = headerBytes(info.allocator.functions);
    for (const figures of mergePathBlocks(contents.map((of) => of.blocks)))
      blocks.push(blocksOf(figures, ipsOf(figures.path), typeAt, header));
    const sites = mergeObjects(contents.map((of) => of.objects));
    const parts = blockParts(sites);
    for (const figures of sites) {
      blocks.push(blocksOfObjects(figures, ipsOf(figures.path), typeAt, header));
      objects.push({
        ...objectsOf(figures, ipsOf(figures.path), typeAt(), parts.get(figures.path[0])!),
        deadBy: reached(figures.deadBy, storeAt, "store"),
        writtenBy: reached(figures.writtenBy, storeAt, "store"),
        readBy: reached(figures.readBy, loadAt, "load"),
      });
    }
    const sentences = [...sentencesOfTool(info, "waste"), ...sentencesOf(contents), ...cut.sentences(ipsOf)];
    said.push({ name: info.name, sentences });
  }
  stores.forEach((store, first) => {
    if (isPrecise && store.dead_exit > 0)
      pairs.push({ kind: "exit", first, bytes: store.dead_exit, operations: 1 });
  });
  pairs.sort((a, b) => b.bytes - a.bytes);
  const sum = <T>(of: readonly T[], figure: (one: T) => number): number =>
    of.reduce((total, one) => total + figure(one), 0);
  return {
    schema: WASTE_SCHEMA,
    version: WASTE_VERSION,
    command: commandLine(command),
    modules: modules.map(({ index, info }) => ({ index, name: info.name, buildId: info.buildId })),
    options,
    totals: {
      bytesWritten: sum(stores, (s) => s.bytes_written),
      bytesRead: sum(stores, (s) => s.bytes_read),
      deadOverwritten: sum(stores, (s) => s.dead_overwritten),
      deadDeallocated: sum(stores, (s) => s.dead_deallocated),
      deadExit: sum(stores, (s) => s.dead_exit),
      hostAssumedRead: sum(stores, (s) => s.host_assumed_read),
      visibleAtExit: sum(stores, (s) => s.visible_at_exit ?? 0),
      stores: sum(stores, (s) => s.nof_stores),
      silentStores: sum(stores, (s) => s.nof_silent),
      loads: sum(loads, (l) => l.nof_loads),
      bytesLoaded: sum(loads, (l) => l.bytes_loaded),
      silentLoads: sum(loads, (l) => l.nof_silent),
    },
    stores,
    loads,
    ...(isPrecise ? { pairs, ends, reallocations } : {}),
    ...(options.objects ? { objects } : {}),
    ...(isPrecise && !options.objects ? {} : { blocks }),
    notTracked: sentencesOfModules(said),
  };
}

/** What is asked for at most once, and only if somebody wants it. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Loops that a sentence names at most. */
const NAMED_LOOPS = 5;

/** Runs of loops that did not end before the figures were taken, by the first of their accesses. */
function runsCutShort(contents: readonly WasteContents[]) {
  const loops = merge(contents.map(({ openLoops }) => openLoops));
  const runsAt = new Map(loops.flatMap(({ path, runs }) => path.map((offset) => [offset, runs])));
  return {
    of([offset]: readonly number[]): { incomplete?: number } {
      const incomplete = runsAt.get(offset);
      return incomplete === undefined ? {} : { incomplete };
    },
    sentences(ipsOf: (path: readonly number[]) => WasteIp[]): string[] {
      if (loops.length === 0) return [];
      const names = loops.slice(0, NAMED_LOOPS).map(({ path }) => nameOf(ipsOf(path)[0], path[0]));
      if (loops.length > names.length) names.push(`${loops.length - names.length} more`);
      const runs = loops.reduce((total, loop) => total + loop.runs, 0);
      return [
        `${runs === 1 ? "A run of a loop" : `${runs} runs of loops`} did not end: what accesses did there is not counted (${names.join(", ")}). With --pairs it is.`,
      ];
    },
  };
}

function nameOf({ function: name, file, line }: WasteIp, offset: number): string {
  const place = file === undefined || line === undefined ? `+0x${offset.toString(16)}` : `${file}:${line}`;
  return name === undefined ? place : `${name} ${place}`;
}

function storeOf(figures: StoreFigures, ips: WasteIp[], options: WasteFileOptions): WasteStore {
  const { overwritten, deallocated, exit, hostRead, visibleAtExit } = figures;
  return {
    ips,
    bytes_written: figures.written,
    bytes_read: figures.read + hostRead,
    nof_stores: figures.stores,
    nof_silent: figures.silent,
    ...(figures.again === undefined ? {} : { nof_again: figures.again }),
    bytes_dead: overwritten + deallocated + exit,
    dead_overwritten: overwritten,
    dead_deallocated: deallocated,
    dead_exit: exit,
    bytes_silent: figures.silentBytes,
    host_assumed_read: hostRead,
    ...(visibleAtExit === 0 ? {} : { visible_at_exit: visibleAtExit }),
    ...(options.engine === "full"
      ? {
          bytes_same: figures.same,
          silent_over_zero: figures.overZero,
          silent_approximate: figures.approximate,
          lanes_redundant: figures.lanes,
          bytes_over_segments: figures.overSegment,
        }
      : {}),
    class: figures.siteClass,
    ...(figures.isFrame ? { frame: true } : {}),
    ...(figures.isUpdate ? { update: true } : {}),
  };
}

function loadOf(figures: LoadFigures, ips: WasteIp[], isPrecise: boolean): WasteLoad {
  return {
    ips,
    nof_loads: figures.loads,
    nof_silent: figures.silent,
    bytes_loaded: figures.bytes,
    ...(figures.again === undefined ? {} : { nof_again: figures.again }),
    ...(isPrecise
      ? {
          nof_redundant: figures.redundant,
          bytes_redundant: figures.redundantBytes,
          nof_approximate: figures.approximate,
          bytes_zero: figures.zeroBytes,
          values: figures.values,
        }
      : {}),
    class: figures.siteClass,
    ...(figures.isFrame ? { frame: true } : {}),
  };
}

/** Stores or loads that an allocation site is told with: reports add up those of one line, which may be an unrolled loop. */
const MOST_REACHED = 100;

/** Who reached into blocks, most bytes first, by index into `stores` or `loads`. */
function reached<Access extends "store" | "load">(
  bytesOf: ReadonlyMap<string, number>,
  indexOf: ReadonlyMap<string, number>,
  access: Access,
): (Record<Access, number> & { bytes: number })[] {
  return [...bytesOf]
    .flatMap(([path, bytes]) => {
      const index = indexOf.get(path);
      return index === undefined ? [] : [{ index, bytes }];
    })
    .sort((a, b) => b.bytes - a.bytes || a.index - b.index)
    .slice(0, MOST_REACHED)
    .map(({ index, bytes }) => ({ [access]: index, bytes }) as Record<Access, number> & { bytes: number });
}

/** Adds up figures of equal paths, in the order of paths: numbers compared one by one, shorter before longer. */
function merge<T extends { path: number[] }>(instances: readonly (readonly T[])[]): T[] {
  const merged = new Map<string, T>();
  // Copies are made of those alone to which something is added: nearly all stand alone.
  const copies = new Set<T>();
  for (const figures of instances.flat()) {
    const key = pathKey(figures.path);
    let known = merged.get(key);
    if (known === undefined) merged.set(key, figures);
    else {
      if (!copies.has(known)) {
        known = { ...known };
        copies.add(known);
        merged.set(key, known);
      }
      addFigures(known, figures);
    }
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
  layers: ReadonlySet<number>,
): (path: readonly number[]) => WasteIp[] {
  const functions = new ModuleFunctions(original);
  const placeAt = linesOf?.(original);
  const known = new Map<number, WasteIp>();
  const locate = (offset: number): WasteIp => {
    const found = functions.holding(offset);
    const frame = placeAt?.(offset);
    const name = frame?.function ?? found?.name ?? (found && `func[${found.index}]`);
    return {
      address: module * MODULE_SPAN + offset,
      ...(name === undefined ? {} : { function: name }),
      ...placeMembers(frame),
      ...layerMembers(frame),
      ...(found !== undefined && layers.has(found.index) ? { layer: true } : {}),
      ...(frame?.outer === undefined || frame.outer.length === 0
        ? {}
        : {
            inlined: frame.outer.map((one) => ({
              function: one.function,
              ...placeMembers(one),
              ...layerMembers(one),
            })),
          }),
    };
  };
  return (path) =>
    path.length === 0
      ? [{ address: module * MODULE_SPAN, function: "(the host)" }]
      : path.map((offset) => {
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
  endOf: (path: number[]) => number,
): WastePair[] {
  const merged = new Map<string, PairFigures>();
  for (const pair of contents.flatMap((c) => c.pairs)) {
    const key = [pair.kind, pair.first, pair.origin, pair.second, pair.end].join("|");
    const known = merged.get(key);
    if (known === undefined) merged.set(key, { ...pair });
    else {
      known.bytes += pair.bytes;
      known.operations += pair.operations;
    }
  }
  return [...merged.values()].map(({ kind, first, origin, second, end, bytes, operations }) => {
    const at = kind === "redundant" ? loadAt : storeAt;
    const from = first === undefined ? undefined : at.get(first);
    const to = second === undefined ? undefined : at.get(second);
    return {
      kind,
      ...(from === undefined ? {} : { first: from }),
      ...(origin === undefined ? {} : { origin }),
      ...(to === undefined ? {} : { second: to }),
      ...(end === undefined ? {} : { end: endOf(end) }),
      bytes,
      operations,
    };
  });
}

/** What holds for all modules once, the rest with the module's name where there are several. */
function sentencesOfModules(said: readonly { name: string; sentences: string[] }[]): string[] {
  const isCommon = (sentence: string): boolean => said.every(({ sentences }) => sentences.includes(sentence));
  const texts = said.flatMap(({ name, sentences }) =>
    sentences.map((sentence) => (isCommon(sentence) ? sentence : `${name}: ${sentence}`)),
  );
  return [...new Set(texts)];
}

/** That a program did not get memory because of the tool, as a sentence; undefined: it got all. */
export function refusedGrowth(contents: readonly WasteContents[]): string | undefined {
  const all = contents.flatMap(({ refused }) => refused ?? []);
  if (all.length === 0) return undefined;
  const times = all.reduce((sum, of) => sum + of.times, 0);
  return refusedSentence(times, Math.max(...all.map(({ pages }) => pages)), all[0].covered);
}

/** Which figures are no exact counts. */
export function boundsOfWaste(contents: readonly WasteContents[]): Bound[] {
  const sum = (figure: (of: WasteContents) => number): number =>
    contents.reduce((total, of) => total + figure(of), 0);
  const bounds: Bound[] = [];
  if (contents.some(({ grewBeyond }) => grewBeyond) || sum((of) => of.outside) > 0)
    bounds.push(...unseenBounds("the memory grew beyond what the waste tool follows", ["written", "dead"]));
  if (sum((of) => of.keysLost) > 0)
    bounds.push(placeBound(["written", "dead"], "the tables of calling contexts were full"));
  if (sum((of) => of.contextsLeft) > 0)
    bounds.push(placeBound(["written", "dead"], "seldom used places stand without their callers"));
  return bounds;
}

function sentencesOf(contents: readonly WasteContents[]): string[] {
  const sum = (figure: (of: WasteContents) => number): number =>
    contents.reduce((total, of) => total + figure(of), 0);
  const sentences: string[] = [];
  if (contents.some(({ grewBeyond }) => grewBeyond))
    sentences.push("The memory grew beyond what the waste tool follows: its figures are not reliable.");
  const heldAt = contents.find((of) => of.heldAt !== undefined)?.heldAt;
  const refused = refusedGrowth(contents);
  if (refused !== undefined) sentences.push(refused);
  else if (heldAt !== undefined) sentences.push(heldSentence(heldAt));
  const outside = sum((of) => of.outside);
  if (outside > 0)
    sentences.push(
      `${counted(outside, "operation")} on memory beyond what is followed ${agreeing(outside, "was", "were")} not counted.`,
    );
  const lost = sum((of) => of.keysLost);
  if (lost > 0)
    sentences.push(
      `The tables of calling contexts were full: ${counted(lost, "access counts without its context", "accesses count without their context")}.`,
    );
  const left = sum((of) => of.contextsLeft);
  if (left > 0)
    sentences.push(
      `${counted(left, "seldom used place")} in contexts, ${counted(
        sum((of) => of.accessesLeft),
        "access",
        "accesses",
      )}, ${agreeing(left, "stands", "stand")} without their callers: what is told of contexts is bounded.`,
    );
  const pairsLost = sum((of) => of.pairsLost);
  if (pairsLost > 0)
    sentences.push(`The table of pairs was full: ${counted(pairsLost, "byte is", "bytes are")} in no pair.`);
  return sentences;
}
