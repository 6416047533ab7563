import { entryOf, once } from "../../../../ground/bytes/entries.ts";
import { concatenated } from "../../../../ground/bytes/file-piece.ts";
import { type Bound, FIGURES, placeBound, unseenBounds } from "../../../../profile/model/bound.ts";
import { headerBytes } from "../../../../profile/model/collected-objects.ts";
import { agreeing, counted, groupDigits } from "../../../../profile/model/counted.ts";
import { namedModuleOf } from "../../../../profile/model/named-module.ts";
import type { RunEnd } from "../../../../profile/model/run.ts";
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
} from "../../../../profile/model/waste.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { InstanceHandle, LinesOf, RunFacts, ToolSession, ToolSnapshot, TypesOf } from "../../session.ts";
import { sentencesOfTool } from "../../session.ts";
import { layerMembers, placeMembers } from "../../source-places.ts";
import { wasteDescription } from "../description.ts";
import { heldSentence, refusedSentence } from "../memory-limit.ts";
import { blockParts, blocksOf, blocksOfObjects, mergeObjects, objectsOf } from "./blocks-of-paths.ts";
import type { PairFigures } from "./read-pairs.ts";
import { comparePaths, mergePathBlocks, pathKey } from "./read-path-blocks.ts";
import {
  addFigures,
  type LoadFigures,
  type StoreFigures,
  type WasteContents,
  WasteReader,
} from "./read-waste.ts";
import { siteRunsOf } from "./site-runs.ts";

interface ModuleContents {
  index: number;
  info: InstrumentedInfo;
  original: Uint8Array;
  contents: readonly WasteContents[];
}

/** Builds the contents of waste.json. Instances of one module are added up. */
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
  const notes: { name: string; sentences: string[] }[] = [];
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
      const index = entryOf(endAt, key, () => ends.push({ ips: ipsOf(path) }) - 1);
      return index;
    };
    // Not as operands of one call: there may be a million pairs.
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
    notes.push({ name: info.name, sentences });
  }
  stores.forEach((store, first) => {
    if (isPrecise && store.dead_exit > 0)
      pairs.push({ kind: "exit", first, bytes: store.dead_exit, operations: 1 });
  });
  pairs.sort((a, b) => b.bytes - a.bytes);
  const sum = <T>(items: readonly T[], figure: (one: T) => number): number =>
    items.reduce((total, one) => total + figure(one), 0);
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
    notTracked: sentencesOfModules(notes),
  };
}

const NAMED_LOOPS = 5;

/** Collects runs of loops that did not end before the figures were taken, by the loop's first access. */
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
        `${runs === 1 ? "A loop" : `${groupDigits(runs)} loops`} did not end (${names.join(", ")}): accesses of the last iterations are not counted. --pairs counts them.`,
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

/**
 * Most stores or loads that are listed per allocation site. Reports add up those of one line, which may be an unrolled
 * loop.
 */
const MOST_REACHED = 100;

/** Returns the accesses to blocks as indices into `stores` or `loads`. Most bytes come first. */
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

/** Adds up figures of equal paths. Sorts by path: numbers are compared one by one, shorter paths come first. */
function merge<T extends { path: number[] }>(instances: readonly (readonly T[])[]): T[] {
  const merged = new Map<string, T>();
  // Only figures to which others are added are copied, since most paths occur once.
  const copies = new Set<T>();
  for (const figures of instances.flat()) {
    const key = pathKey(figures.path);
    let earlier = merged.get(key);
    if (earlier === undefined) merged.set(key, figures);
    else {
      if (!copies.has(earlier)) {
        earlier = { ...earlier };
        copies.add(earlier);
        merged.set(key, earlier);
      }
      addFigures(earlier, figures);
    }
  }
  return [...merged.values()].sort((a, b) => comparePaths(a.path, b.path));
}

function locator(
  module: number,
  original: Uint8Array,
  linesOf: LinesOf | undefined,
  layers: ReadonlySet<number>,
): (path: readonly number[]) => WasteIp[] {
  const functions = new ModuleFunctions(original);
  const placeAt = linesOf?.(original);
  const ipOf = new Map<number, WasteIp>();
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
            inlined: frame.outer.map((outerFrame) => ({
              function: outerFrame.function,
              ...placeMembers(outerFrame),
              ...layerMembers(outerFrame),
            })),
          }),
    };
  };
  return (path) =>
    path.length === 0
      ? [{ address: module * MODULE_SPAN, function: "(the host)" }]
      : path.map((offset) => {
          return entryOf(ipOf, offset, () => locate(offset));
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
    const earlier = merged.get(key);
    if (earlier === undefined) merged.set(key, { ...pair });
    else {
      earlier.bytes += pair.bytes;
      earlier.operations += pair.operations;
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

/** Merges the sentences of all modules. A sentence that does not hold for all of them gets the module's name. */
function sentencesOfModules(notes: readonly { name: string; sentences: string[] }[]): string[] {
  const isCommon = (sentence: string): boolean =>
    notes.every(({ sentences }) => sentences.includes(sentence));
  const texts = notes.flatMap(({ name, sentences }) =>
    sentences.map((sentence) => (isCommon(sentence) ? sentence : `${name}: ${sentence}`)),
  );
  return [...new Set(texts)];
}

/** Returns a sentence if requests for memory failed because of the tool. */
function refusedGrowth(contents: readonly WasteContents[]): string | undefined {
  const refusals = contents.flatMap(({ refused }) => refused ?? []);
  if (refusals.length === 0) return undefined;
  const times = refusals.reduce((sum, of) => sum + of.times, 0);
  return refusedSentence(times, Math.max(...refusals.map(({ pages }) => pages)), refusals[0].covered);
}

function boundsOfWaste(contents: readonly WasteContents[]): Bound[] {
  const sum = (figure: (of: WasteContents) => number): number =>
    contents.reduce((total, of) => total + figure(of), 0);
  const bounds: Bound[] = [];
  if (contents.some(({ grewBeyond }) => grewBeyond) || sum((of) => of.outside) > 0)
    bounds.push(...unseenBounds("the memory grew beyond what the waste tool follows", ["written", "dead"]));
  if (sum((of) => of.keysLost) > 0)
    bounds.push(placeBound(["written", "dead"], "the tables of call paths were full"));
  if (sum((of) => of.contextsLeft) > 0)
    bounds.push(placeBound(["written", "dead"], "rarely used sites have no callers"));
  return bounds;
}

function sentencesOf(contents: readonly WasteContents[]): string[] {
  const sum = (figure: (of: WasteContents) => number): number =>
    contents.reduce((total, of) => total + figure(of), 0);
  const sentences: string[] = [];
  if (contents.some(({ grewBeyond }) => grewBeyond))
    sentences.push(
      "The memory grew beyond the part that the waste tool covers: its figures are not reliable.",
    );
  const heldAt = contents.find((of) => of.heldAt !== undefined)?.heldAt;
  const refused = refusedGrowth(contents);
  if (refused !== undefined) sentences.push(refused);
  else if (heldAt !== undefined) sentences.push(heldSentence(heldAt));
  const outside = sum((of) => of.outside);
  if (outside > 0)
    sentences.push(
      `${counted(outside, "access", "accesses")} to memory beyond the covered part ${agreeing(outside, "was", "were")} not counted.`,
    );
  const lost = sum((of) => of.keysLost);
  if (lost > 0)
    sentences.push(
      `The tables of call paths were full: ${counted(lost, "access is counted without its call path", "accesses are counted without their call paths")}.`,
    );
  const contextsLeft = sum((of) => of.contextsLeft);
  if (contextsLeft > 0)
    sentences.push(
      `The table of call paths is limited: ${counted(contextsLeft, "rarely used site")} with ${counted(
        sum((of) => of.accessesLeft),
        "access",
        "accesses",
      )} ${agreeing(contextsLeft, "has", "have")} no callers.`,
    );
  const pairsLost = sum((of) => of.pairsLost);
  if (pairsLost > 0)
    sentences.push(
      `The table of pairs was full: ${counted(pairsLost, "byte belongs", "bytes belong")} to no pair.`,
    );
  return sentences;
}

/** Longest string of current engines, characters, with a margin. */
const LONGEST_STRING = 2 ** 29 - 2 ** 16;

/** Serializes waste.json, one record per line. Returns bytes if the text is too long for a string. */
export function wasteText(file: WasteFile, longestString: number = LONGEST_STRING): string | Uint8Array {
  const pieces: string[] = [];
  let length = 0;
  const write = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  let before = "{\n";
  for (const [name, value] of Object.entries(file)) {
    if (value === undefined) continue;
    write(`${before}"${name}": `);
    before = ",\n";
    if (!Array.isArray(value)) {
      write(JSON.stringify(value));
      continue;
    }
    let start = "[\n";
    for (const record of value) {
      write(start + JSON.stringify(record));
      start = ",\n";
    }
    write(value.length === 0 ? "[]" : "\n]");
  }
  write("\n}\n");
  return length <= longestString ? pieces.join("") : bytesOf(pieces);
}

function bytesOf(pieces: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  return concatenated(pieces.map((piece) => encoder.encode(piece)));
}

export const WASTE_FILE = "waste.json";

interface Instance {
  module: number;
  reader: WasteReader | undefined;
  exitVisible: boolean;
  contents: WasteContents | undefined;
}

export class WasteSession implements ToolSession {
  readonly tool = "waste";
  /**
   * Instances by their order of creation, including gone ones. The garbage collector decides when an instance goes,
   * which must not show.
   */
  readonly #instances = new Map<number, Instance>();
  readonly #modules = new Map<number, { info: InstrumentedInfo; original: () => Uint8Array }>();

  addInstance(
    handle: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    tables: readonly WebAssembly.Memory[] = [],
  ): void {
    const bytes = typeof original === "function" ? original : () => original;
    this.#modules.set(handle.module, { info, original: bytes });
    this.#instances.set(handle.number, {
      module: handle.module,
      reader: new WasteReader(memory, info, tables),
      exitVisible: isVisibleAtExit(info),
      contents: undefined,
    });
  }

  releaseInstance(handle: InstanceHandle): void {
    const instance = this.#instances.get(handle.number);
    if (instance?.reader === undefined) return;
    instance.contents = instance.reader.read(instance.exitVisible);
    instance.reader = undefined;
  }

  reset(): void {
    for (const [number, { reader }] of this.#instances)
      if (reader === undefined) this.#instances.delete(number);
      else reader.reset();
  }

  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot {
    const contents = [...this.#instances.values()].flatMap(({ module, reader, exitVisible, contents }) => {
      const current = contents ?? reader?.read(exitVisible);
      return current === undefined ? [] : { module, contents: current };
    });
    const modules: ModuleContents[] = [...this.#modules].map(([index, { info, original }]) => ({
      index,
      info: { ...info, name: facts.modules[index]?.name ?? info.name },
      original: original(),
      contents: contents.filter(({ module }) => module === index).map((of) => of.contents),
    }));
    const description = modules[0] && wasteDescription(modules[0].info);
    const options = {
      engine: description?.engine ?? ("brief" as const),
      contexts: description?.contexts === true,
      objects: description?.objects === true,
      compat: description?.compat ?? "",
    };
    const isAlone = facts.modules.length === 1;
    const named = (name: string, sentence: string) => (isAlone ? sentence : `${name}: ${sentence}`);
    // Reasons why modules, or instances of them, are not recorded.
    const unrecorded = facts.modules.flatMap(({ index, name, notRecorded }) =>
      notRecorded?.waste === undefined ? [] : { module: index, name, reason: notRecorded.waste },
    );
    const notRecorded = unrecorded.filter(({ module }) => !this.#modules.has(module));
    const partly = unrecorded
      .filter(({ module }) => this.#modules.has(module))
      .map(({ name, reason }) => named(name, `Some instances are not recorded. ${reason}`));
    const refused = modules.flatMap(({ info, contents }) => {
      const sentence = refusedGrowth(contents);
      return sentence === undefined ? [] : { name: info.name, sentence };
    });
    const file = wasteFile(facts.command, options, modules, facts.linesOf, facts.typesOf);
    file.modules = file.modules?.map((module) => namedModuleOf(facts.modules[module.index] ?? module));
    if (notRecorded.length > 0) file.notRecorded = notRecorded;
    const reasons = notRecorded.map(({ name, reason }) => named(name, reason));
    file.notTracked.push(...reasons, ...partly);
    if (end.kind === "trap" && options.engine === "brief") file.notTracked.push(TRAPPED);
    return {
      description: options,
      files: [{ member: "waste", name: WASTE_FILE, contents: wasteText(file) }],
      bounds: [
        ...boundsOfWaste(contents.map((of) => of.contents)),
        ...unrecorded.flatMap(({ name }) =>
          unseenBounds(`the waste tool does not record ${name}, or a part of it`, ["written", "dead"]),
        ),
        ...refused.map(
          ({ name }): Bound => ({
            figures: FIGURES,
            are: "either",
            because: `${name} did not get memory because of the tool`,
          }),
        ),
      ],
      shadowBytes: contents.reduce((sum, { contents: of }) => sum + of.shadowBytes, 0),
      keptBack: file.notTracked.filter((note) => refused.some(({ sentence }) => note.endsWith(sentence))),
      warnings: [
        ...unrecorded.map(({ name, reason }) => `${name}: ${reason}`),
        ...refused.map(({ name, sentence }) => `${name}: ${sentence}`),
      ],
      siteRuns: modules.map((of) => ({ original: of.original, runs: siteRunsOf(of.contents) })),
    };
  }
}

const TRAPPED =
  "The program trapped: accesses after the trap in the same basic block are counted, though they did not happen. With --pairs they are not.";

/** True if the host reads what remains in memory at the end: the memory of a library, not of a command. */
function isVisibleAtExit(info: InstrumentedInfo): boolean {
  const description = wasteDescription(info);
  return description?.exportsMemory === true && description.opaque;
}
