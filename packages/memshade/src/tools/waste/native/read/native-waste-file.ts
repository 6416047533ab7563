import { existsSync, readFileSync } from "node:fs";
import { loadDemangler } from "../../../../load/demangler.ts";
import { loadSymbolizer } from "../../../../load/symbolizer.ts";
import { counted, groupDigits } from "../../../../model/counted.ts";
import type { NamedModule } from "../../../../model/named-module.ts";
import {
  MODULE_SPAN,
  WASTE_SCHEMA,
  WASTE_VERSION,
  type WasteFile,
  type WasteIp,
  type WasteLoad,
  type WasteStore,
} from "../../../../model/waste/waste.ts";
import type { NativeToolOptions } from "../../../../native/native-tool.ts";
import { SAMPLE_PERIOD, SAMPLED_BLOCK_SLOTS, SampledBlock, SLOT_BYTES, STORE_SLOTS } from "../layout.ts";
import type { NativeSite } from "../plan-waste.ts";
import { readNotes } from "../site-notes.ts";
import { CountsFile, type StoreFate } from "./counts-file.ts";
import {
  readSampled,
  refusedSamples,
  type SampledContext,
  type StoreSums,
  spread,
} from "./sampled-contexts.ts";
import { type ProcessPlaces, unreadBytes } from "./unread-bytes.ts";

/** A file whose code was followed: what the run calls it, where it is, and where the notes of its sites are. */
export interface FollowedFile {
  module: NamedModule;
  path: string;
  notes: string;
}

/** How a process was followed, and where its bytes are. */
export interface FollowedHow extends NativeToolOptions, Omit<ProcessPlaces, "isStackFollowed"> {
  /** The calls that lead to a node of the calling context tree, innermost first: modules, and addresses in them. */
  callersOf: (node: number) => { module: number; address: number }[];
}

/** waste.json of a native process, of what it has left in the file that it shares. */
export function nativeWasteFile(
  command: readonly string[],
  counts: string,
  files: readonly FollowedFile[],
  how: FollowedHow,
): WasteFile {
  const file = new CountsFile(counts);
  try {
    const maps = file.maps() || how.maps;
    const isStackFollowed = how.includeStack === true;
    const unread = unreadBytes(counts, { ...how, maps, isStackFollowed });
    return new WasteFileMaker(file, unread, how).make(command, files);
  } finally {
    file.close();
  }
}

/** Whether code of a file has run in the process that shares a file. @param notes path of the notes of its sites */
export function hasRun(counts: string, notes: string): boolean {
  if (!existsSync(notes)) return false;
  const { from, to } = readNotes(readFileSync(notes));
  const file = new CountsFile(counts);
  try {
    return file.slots(from, to).some((word) => word !== 0n);
  } finally {
    file.close();
  }
}

/** What becomes of bytes that a store writes, in the order of `StoreSums`. */
const FATES: readonly (keyof StoreSums)[] = ["dead", "deallocated", "exit"];

class WasteFileMaker {
  readonly #counts: CountsFile;
  readonly #fates: Map<number, StoreFate>;
  readonly #stores: WasteStore[] = [];
  readonly #loads: WasteLoad[] = [];
  readonly #unread: Float64Array;
  readonly #how: FollowedHow;
  readonly #sampled: ReadonlyMap<number, readonly SampledContext[]>;
  readonly #fateOf: (id: number) => StoreFate;
  /** Where code is, by module. */
  readonly #locators = new Map<number, (address: number) => WasteIp>();
  readonly #callers = new Map<number, WasteIp[]>();
  readonly #left = { stack: 0, thread: 0, unusual: 0, unplaced: 0 };

  /** @param unread bytes that are unread at the end, by ids */
  constructor(counts: CountsFile, unread: Float64Array, how: FollowedHow) {
    this.#counts = counts;
    this.#unread = unread;
    this.#how = how;
    this.#fates = counts.fates(unread);
    this.#fateOf = counts.fatesOfIds(unread);
    this.#sampled = how.contexts === true ? readSampled(counts) : new Map();
  }

  make(command: readonly string[], files: readonly FollowedFile[]): WasteFile {
    for (const { module, path } of files) this.#locators.set(module.index, locator(path, module.index));
    for (const one of files) if (existsSync(one.notes)) this.#addFile(one);
    const stores = this.#stores;
    const loads = this.#loads;
    const sum = <T>(of: readonly T[], figure: (one: T) => number): number =>
      of.reduce((total, one) => total + figure(one), 0);
    return {
      schema: WASTE_SCHEMA,
      version: WASTE_VERSION,
      command: command.join(" "),
      modules: files.map(({ module }) => module),
      options: {
        engine: "brief",
        contexts: this.#how.contexts === true,
        objects: false,
        compat: this.#how.compat ?? "",
      },
      totals: {
        bytesWritten: sum(stores, (one) => one.bytes_written),
        bytesRead: sum(stores, (one) => one.bytes_read),
        deadOverwritten: sum(stores, (one) => one.dead_overwritten),
        deadDeallocated: sum(stores, (one) => one.dead_deallocated),
        deadExit: sum(stores, (one) => one.dead_exit),
        hostAssumedRead: 0,
        stores: sum(stores, (one) => one.nof_stores),
        silentStores: sum(stores, (one) => one.nof_silent),
        loads: sum(loads, (one) => one.nof_loads),
        bytesLoaded: sum(loads, (one) => one.bytes_loaded),
        silentLoads: sum(loads, (one) => one.nof_silent),
      },
      stores,
      loads,
      blocks: [],
      notTracked: this.#notTracked(),
    };
  }

  #addFile({ module, notes }: FollowedFile): void {
    const { sites, from, to, unfollowed, unplaced } = readNotes(readFileSync(notes));
    this.#left.stack += unfollowed.stack;
    this.#left.thread += unfollowed.thread;
    this.#left.unusual += unfollowed.unusual;
    this.#left.unplaced += unplaced;
    const slots = this.#counts.slots(from, to);
    const at = (slot: number): number => Number(slots[(slot - from) / SLOT_BYTES]);
    const ipOf = this.#locators.get(module.index)!;
    const isSampled = this.#how.contexts === true;
    for (const site of sites) {
      const { blockSlot, storeSlot, loadSlot } = site;
      const runs = (isSampled ? at(blockSlot + SampledBlock.runs) : 0) - at(blockSlot);
      if (runs <= 0) continue;
      const ip = ipOf(site.address);
      const contexts = this.#sampled.get(blockSlot) ?? [];
      const counted = storeSlot === 0 ? 0 : at(storeSlot + SLOT_BYTES);
      if (storeSlot !== 0) this.#addStore(site, ip, runs, counted, contexts);
      if (loadSlot === 0) continue;
      // What copies bytes loads as many as it stores.
      const isCopy = site.kind === "string" && storeSlot !== 0;
      const loading = isCopy ? { ...site, bytes: counted / runs } : site;
      this.#addLoad(loading, ip, { runs, fresh: at(loadSlot) }, contexts);
    }
  }

  #addStore(
    site: NativeSite,
    ip: WasteIp,
    runs: number,
    counted: number,
    contexts: readonly SampledContext[],
  ): void {
    const own = this.#fates.get(site.storeSlot) ?? { dead: 0, deallocated: 0, exit: 0 };
    const store =
      (site.storeSlot - site.blockSlot - SAMPLED_BLOCK_SLOTS * SLOT_BYTES) / (STORE_SLOTS * SLOT_BYTES);
    const sampled = contexts.map((one) => {
      const { dead, deallocated, exit } = this.#fateOf(one.firstId + store);
      return { runs: one.samples, counted: one.stores[store], dead, deallocated, exit };
    });
    const all = { runs, counted, ...own };
    for (const one of sampled) {
      all.dead += one.dead;
      all.deallocated += one.deallocated;
      all.exit += one.exit;
    }
    if (contexts.length === 0) this.#stores.push(storeOf(site, [ip], all));
    const most = (name: keyof StoreSums, part: StoreSums): number => {
      if (name === "counted") return site.kind === "string" ? Number.POSITIVE_INFINITY : part.runs;
      const before = FATES.slice(0, FATES.indexOf(name)).reduce((sum, fate) => sum + part[fate], 0);
      return (site.kind === "string" ? part.counted : part.runs * site.bytes) - before;
    };
    spread(all, contexts, sampled, most).forEach((part, i) => {
      if (part.runs > 0) this.#stores.push(storeOf(site, [ip, ...this.#callersOf(contexts[i])], part));
    });
  }

  #addLoad(
    site: NativeSite,
    ip: WasteIp,
    all: { runs: number; fresh: number },
    contexts: readonly SampledContext[],
  ): void {
    if (contexts.length === 0) this.#loads.push(loadOf(site, [ip], all));
    const stores = contexts[0]?.stores.length ?? 0;
    const first = site.blockSlot + SLOT_BYTES * (SAMPLED_BLOCK_SLOTS + STORE_SLOTS * stores);
    const load = (site.loadSlot - first) / SLOT_BYTES;
    const sampled = contexts.map(({ samples, loads }) => ({ runs: samples, fresh: loads[load] }));
    spread(all, contexts, sampled, (_, { runs }) => runs).forEach((part, i) => {
      if (part.runs > 0) this.#loads.push(loadOf(site, [ip, ...this.#callersOf(contexts[i])], part));
    });
  }

  #callersOf({ node }: SampledContext): WasteIp[] {
    let callers = this.#callers.get(node);
    if (callers === undefined) {
      callers = this.#how
        .callersOf(node)
        .map(
          ({ module, address }) =>
            this.#locators.get(module)?.(address) ?? { address: module * MODULE_SPAN + address },
        );
      this.#callers.set(node, callers);
    }
    return callers;
  }

  #notTracked(): string[] {
    const { thread, unusual, unplaced } = this.#left;
    const { stores, dead } = this.#counts.withoutId(this.#unread);
    const deadBytes = `${counted(dead, "dead byte is", "dead bytes are")} not told by place`;
    const say = (many: number, one: string, others: string): string[] =>
      many === 0 ? [] : [`${counted(many, one, others)}.`];
    return [
      ...(this.#how.includeStack === true ? [] : ["Accesses of the stack are not followed."]),
      "What system calls may read or write counts as read.",
      "Atomic instructions count as loads, and what they store as read. String instructions that go backwards are not followed.",
      ...(this.#how.contexts === true
        ? [
            `Contexts are estimated: of each block of code about one run in ${groupDigits(SAMPLE_PERIOD)} was looked at, more of those that run seldom. They add up to what was counted at each place.`,
            ...say(
              refusedSamples(this.#counts),
              "look found no room for one more context and changed nothing",
              "looks found no room for one more context and changed nothing",
            ),
          ]
        : []),
      ...say(
        this.#counts.unknownCalls(),
        "system call was made of which nobody knows what memory it reaches: what it read counts as unread",
        "system calls were made of which nobody knows what memory they reach: what they read counts as unread",
      ),
      ...say(
        thread,
        "instruction on data of threads (thread-local storage) is not followed",
        "instructions on data of threads (thread-local storage) are not followed",
      ),
      ...say(
        unusual,
        "instruction that reaches memory by masks, vectors of addresses and the like is not followed",
        "instructions that reach memory by masks, vectors of addresses and the like are not followed",
      ),
      ...say(
        unplaced,
        "instruction found no room in the tables and is not followed",
        "instructions found no room in the tables and are not followed",
      ),
      ...say(
        stores,
        `store that ran found no id of 16 bits left: ${deadBytes}`,
        `stores that ran found no id of 16 bits left: ${deadBytes}`,
      ),
    ];
  }
}

function storeOf(
  { bytes, kind }: NativeSite,
  ips: WasteIp[],
  { runs, counted, dead, deallocated, exit }: StoreSums,
): WasteStore {
  // String instructions count bytes, others how often they were silent.
  const isString = kind === "string";
  const written = isString ? counted : runs * bytes;
  const silent = isString ? 0 : counted;
  return {
    ips,
    bytes_written: written,
    // Counters of several threads may have lost additions.
    bytes_read: Math.max(0, written - dead - deallocated - exit),
    nof_stores: runs,
    nof_silent: silent,
    bytes_dead: dead + deallocated + exit,
    dead_overwritten: dead,
    dead_deallocated: deallocated,
    dead_exit: exit,
    bytes_silent: silent * bytes,
    host_assumed_read: 0,
    class: isString ? "copy" : "plain",
    ...(kind === "update" ? { update: true } : {}),
  };
}

function loadOf(
  { bytes, kind }: NativeSite,
  ips: WasteIp[],
  { runs, fresh }: { runs: number; fresh: number },
): WasteLoad {
  return {
    ips,
    nof_loads: runs,
    nof_silent: Math.max(0, runs - fresh),
    bytes_loaded: Math.round(runs * bytes),
    class: kind === "atomic" ? "atomic" : kind === "string" ? "copy" : "plain",
  };
}

type Frame = ReturnType<ReturnType<typeof loadSymbolizer>["frames"]>[number];

/** Where code of an object is. */
function locator(path: string, module: number): (address: number) => WasteIp {
  const { frames } = loadSymbolizer(path, { demangle: loadDemangler() });
  return (address) => {
    const [first, ...outer] = frames(address);
    return {
      address: module * MODULE_SPAN + address,
      ...nameAndPlace(first),
      ...(outer.length === 0 ? {} : { inlined: outer.map(nameAndPlace) }),
    };
  };
}

function nameAndPlace(frame: Frame | undefined): {
  function?: string;
  file?: string;
  line?: number;
  startLine?: number;
} {
  if (frame === undefined) return {};
  const { function: name, file, line, startLine } = frame;
  return {
    ...(name === undefined ? {} : { function: name }),
    ...(file === undefined || line === 0 ? {} : { file, line, ...(startLine === 0 ? {} : { startLine }) }),
  };
}
