import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entryOf } from "../../../../../ground/bytes/entries.ts";
import { UserError } from "../../../../../ground/bytes/errors.ts";
import { PAGE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import { loadDemangler } from "../../../../../names/load/demangler.ts";
import { loadSymbolizer } from "../../../../../names/load/symbolizer.ts";
import { type Bound, placeBound, unseenBounds } from "../../../../../profile/model/bound.ts";
import { counted } from "../../../../../profile/model/counted.ts";
import type { NamedModule } from "../../../../../profile/model/named-module.ts";
import { commandLine } from "../../../../../profile/model/shell-words.ts";
import {
  MODULE_SPAN,
  WASTE_SCHEMA,
  WASTE_VERSION,
  type WasteFile,
  type WasteIp,
  type WasteLoad,
  type WasteStore,
} from "../../../../../profile/model/waste.ts";
import type { NativeToolOptions } from "../../../native-tool.ts";
import { threadStacks } from "../../working-set/read/address-regions.ts";
import {
  ADDRESS_BITS,
  ARENA,
  SAMPLED_BLOCK_SLOTS,
  SampledBlock,
  SHADOW_BITS,
  SLOT_BYTES,
  STORE_SLOTS,
  StringSlots,
  TABLES_END,
} from "../layout.ts";
import { type NativeSite, readNotes } from "../site-places.ts";
import { CountsFile, type StoreFate } from "./counts-file.ts";
import { followedBlocks } from "./followed-blocks.ts";
import {
  readSampled,
  refusedSamples,
  type SampledContext,
  type StoreSums,
  spread,
} from "./sampled-contexts.ts";
import { type CountedPart, UNREAD_COUNTS_BYTES, unreadReaderProgram } from "./unread-reader-program.ts";

/** A rewritten file: its module in the run, its path, and the path of the notes on its sites. */
export interface FollowedFile {
  module: NamedModule;
  path: string;
  notes: string;
}

export interface FollowedHow extends NativeToolOptions, Omit<ProcessPlaces, "isStackFollowed"> {
  /** Returns the calls of a context, innermost first, as module and address. */
  callersOf: (context: number) => { module: number; address: number }[];
  /** Returns the calls that lead to a node of the calling context tree, innermost first. */
  pathOf: (node: number) => { module: number; address: number }[];
}

export interface NativeWaste {
  file: WasteFile;
  bounds: Bound[];
}

export function nativeWaste(
  command: readonly string[],
  counts: string,
  files: readonly FollowedFile[],
  recording: FollowedHow,
): NativeWaste {
  const file = new CountsFile(counts);
  try {
    const isStackFollowed = recording.includeStack === true;
    const unread = unreadBytes(counts, { ...recording, isStackFollowed });
    const maker = new WasteFileMaker(file, unread, recording);
    return { file: maker.make(command, files), bounds: maker.bounds() };
  } finally {
    file.close();
  }
}

/** True if code of a file has run in the process that shares `counts`. @param notes path of the notes on its sites */
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

/** Fates of stored bytes, in the order of `StoreSums`. */
const FATES: readonly (keyof StoreSums)[] = ["dead", "deallocated", "exit"];

class WasteFileMaker {
  readonly #counts: CountsFile;
  readonly #fates: Map<number, StoreFate>;
  readonly #stores: WasteStore[] = [];
  readonly #loads: WasteLoad[] = [];
  readonly #unread: Float64Array;
  readonly #recording: FollowedHow;
  readonly #sampled: ReadonlyMap<number, readonly SampledContext[]>;
  readonly #fateOf: (id: number) => StoreFate;
  readonly #locators = new Map<number, (address: number) => WasteIp>();
  readonly #callers = new Map<number, WasteIp[]>();
  #unplaced = 0;

  /** @param unread unread bytes at the end, by store id */
  constructor(counts: CountsFile, unread: Float64Array, recording: FollowedHow) {
    this.#counts = counts;
    this.#unread = unread;
    this.#recording = recording;
    this.#fates = counts.fates(unread);
    this.#fateOf = counts.fatesOfIds(unread);
    this.#sampled = readSampled(counts);
  }

  make(command: readonly string[], files: readonly FollowedFile[]): WasteFile {
    for (const { module, path } of files) this.#locators.set(module.index, locator(path, module.index));
    for (const file of files) if (existsSync(file.notes)) this.#addFile(file);
    const stores = this.#stores;
    const loads = this.#loads;
    const sum = <T>(items: readonly T[], figure: (item: T) => number): number =>
      items.reduce((total, item) => total + figure(item), 0);
    return {
      schema: WASTE_SCHEMA,
      version: WASTE_VERSION,
      command: commandLine(command),
      modules: files.map(({ module }) => module),
      options: {
        engine: "brief",
        contexts: this.#recording.contexts === true,
        objects: false,
        compat: this.#recording.compat ?? "",
      },
      totals: {
        bytesWritten: sum(stores, (store) => store.bytes_written),
        bytesRead: sum(stores, (store) => store.bytes_read),
        deadOverwritten: sum(stores, (store) => store.dead_overwritten),
        deadDeallocated: sum(stores, (store) => store.dead_deallocated),
        deadExit: sum(stores, (store) => store.dead_exit),
        hostAssumedRead: 0,
        stores: sum(stores, (store) => store.nof_stores),
        silentStores: sum(stores, (store) => store.nof_silent),
        loads: sum(loads, (load) => load.nof_loads),
        bytesLoaded: sum(loads, (load) => load.bytes_loaded),
        silentLoads: sum(loads, (load) => load.nof_silent),
      },
      stores,
      loads,
      blocks: followedBlocks(this.#counts, {
        pathOf: this.#recording.pathOf,
        ipOf: (module, address) => this.#locators.get(module)?.(address),
        fileOf: (module) => files.find((file) => file.module.index === module)?.path,
        // Estimates of large blocks must not exceed what all stores left unread.
        mostUnread: sum(stores, (store) => store.dead_deallocated + store.dead_exit),
      }),
      notTracked: this.#notTracked(),
    };
  }

  #addFile({ module, notes }: FollowedFile): void {
    const { sites, from, to, unplaced } = readNotes(readFileSync(notes));
    this.#unplaced += unplaced;
    const slots = this.#counts.slots(from, to);
    const at = (slot: number): number => Number(slots[(slot - from) / SLOT_BYTES]);
    const again = loadsAgain(sites, (site) => {
      const runs = runsOf(site, at);
      return {
        runs,
        fresh: site.loadSlot === 0 ? 0 : at(site.loadSlot),
        entries: -at(site.loop?.entrySlot ?? from),
      };
    });
    const ipOf = this.#locators.get(module.index)!;
    for (const site of sites) {
      const { blockSlot, storeSlot, loadSlot } = site;
      const runs = runsOf(site, at);
      if (runs <= 0) continue;
      const ip = ipOf(site.address);
      const contexts = this.#sampled.get(blockSlot) ?? [];
      const words = (first: number) => (slot: number) => at(first + slot);
      if (storeSlot !== 0)
        this.#addStore(site, ip, storedOf(site, runs, at(storeSlot + SLOT_BYTES), words(loadSlot)), contexts);
      if (loadSlot === 0 || site.kind === "fill") continue;
      this.#addLoad(site, ip, loadedOf(site, runs, words(loadSlot)), contexts, again.get(site));
    }
  }

  #addStore(site: NativeSite, ip: WasteIp, stored: Stored, contexts: readonly SampledContext[]): void {
    const own = this.#fates.get(site.storeSlot) ?? { dead: 0, deallocated: 0, exit: 0 };
    const store =
      (site.storeSlot - site.blockSlot - SAMPLED_BLOCK_SLOTS * SLOT_BYTES) / (STORE_SLOTS * SLOT_BYTES);
    const words = wordsIn(site, contexts);
    const sampled = contexts.map((context, i) => {
      const { dead, deallocated, exit } = this.#fateOf(context.firstId + store);
      return { ...storedOf(site, context.samples, context.stores[store], words(i)), dead, deallocated, exit };
    });
    const totals = { ...stored, ...own };
    for (const sums of sampled) {
      totals.dead += sums.dead;
      totals.deallocated += sums.deallocated;
      totals.exit += sums.exit;
    }
    if (contexts.length === 0) this.#stores.push(storeOf(site, [ip], totals));
    const most = (name: keyof StoreSums, part: StoreSums): number => {
      if (name === "written") return isString(site) ? Number.POSITIVE_INFINITY : part.runs * site.bytes;
      if (name === "silent") return part.runs;
      if (name === "silentBytes") return part.written;
      const before = FATES.slice(0, FATES.indexOf(name)).reduce((sum, fate) => sum + part[fate], 0);
      return part.written - before;
    };
    spread(totals, contexts, sampled, most).forEach((part, i) => {
      if (part.runs > 0) this.#stores.push(storeOf(site, [ip, ...this.#callersOf(contexts[i])], part));
    });
  }

  #addLoad(
    site: NativeSite,
    ip: WasteIp,
    totals: Loaded,
    contexts: readonly SampledContext[],
    again?: number,
  ): void {
    if (contexts.length === 0) this.#loads.push(loadOf(site, [ip], totals, again));
    const words = wordsIn(site, contexts);
    const sampled = contexts.map(({ samples }, i) => loadedOf(site, samples, words(i)));
    const most = (name: keyof Loaded, { runs }: Loaded): number =>
      name === "fresh" ? runs : isString(site) ? Number.POSITIVE_INFINITY : runs * site.bytes;
    spread(totals, contexts, sampled, most).forEach((part, i) => {
      if (part.runs > 0) this.#loads.push(loadOf(site, [ip, ...this.#callersOf(contexts[i])], part));
    });
  }

  #callersOf({ context }: SampledContext): WasteIp[] {
    return entryOf(this.#callers, context, () =>
      this.#recording
        .callersOf(context)
        .map(
          ({ module, address }) =>
            this.#locators.get(module)?.(address) ?? { address: module * MODULE_SPAN + address },
        ),
    );
  }

  bounds(): Bound[] {
    const { stores } = this.#counts.withoutId(this.#unread);
    const isContextLost = this.#recording.contexts === true && refusedSamples(this.#counts) > 0;
    return [
      ...(this.#unplaced > 0
        ? unseenBounds("the tables of instructions were full", ["written", "dead"])
        : []),
      ...(stores > 0
        ? [
            {
              figures: ["dead"] as const,
              are: "least" as const,
              because: "all ids of stores were used",
            },
          ]
        : []),
      ...(isContextLost ? [placeBound(["written", "dead"], "the table of contexts was full")] : []),
    ];
  }

  #notTracked(): string[] {
    const { stores, dead } = this.#counts.withoutId(this.#unread);
    const deadBytes = `${counted(dead, "dead byte belongs", "dead bytes belong")} to no site`;
    const note = (many: number, singular: string, plural: string): string[] =>
      many === 0 ? [] : [`${counted(many, singular, plural)}.`];
    return [
      ...note(
        this.#recording.contexts === true ? refusedSamples(this.#counts) : 0,
        "sample was dropped: the table of call paths was full",
        "samples were dropped: the table of call paths was full",
      ),
      ...note(
        this.#counts.unknownCalls(),
        "system call has unknown effects on memory: bytes that it read count as unread",
        "system calls have unknown effects on memory: bytes that they read count as unread",
      ),
      ...note(
        this.#unplaced,
        "instruction is not counted: the tables were full",
        "instructions are not counted: the tables were full",
      ),
      ...note(
        stores,
        `store has no id, because all 65,536 were used: ${deadBytes}`,
        `stores have no id, because all 65,536 were used: ${deadBytes}`,
      ),
    ];
  }
}

type Stored = Omit<StoreSums, keyof StoreFate>;

type Loaded = { runs: number; fresh: number; bytes: number };

function isString({ kind }: NativeSite): boolean {
  return kind === "string" || kind === "fill";
}

/**
 * @param counted silent stores, or bytes of a string instruction
 * @param word returns a word of a string instruction by its offset
 */
function storedOf(site: NativeSite, runs: number, counted: number, word: (at: number) => number): Stored {
  if (!isString(site))
    return { runs, written: runs * site.bytes, silent: counted, silentBytes: counted * site.bytes };
  const [silent, silentBytes] = [word(StringSlots.silent), word(StringSlots.silentBytes)];
  return { runs, written: counted, silent, silentBytes };
}

function loadedOf(site: NativeSite, runs: number, word: (at: number) => number): Loaded {
  return { runs, fresh: word(0), bytes: isString(site) ? word(StringSlots.read) : runs * site.bytes };
}

function wordsIn(
  { blockSlot, loadSlot }: NativeSite,
  contexts: readonly SampledContext[],
): (context: number) => (at: number) => number {
  const stores = contexts[0]?.stores.length ?? 0;
  const first = blockSlot + SLOT_BYTES * (SAMPLED_BLOCK_SLOTS + STORE_SLOTS * stores);
  return (context) => (at) => contexts[context].loads[(loadSlot - first + at) / SLOT_BYTES];
}

function storeOf(
  site: NativeSite,
  ips: WasteIp[],
  { runs, written, silent, silentBytes, dead, deallocated, exit }: StoreSums,
): WasteStore {
  return {
    ips,
    bytes_written: written,
    // Counters of several threads may lose increments.
    bytes_read: Math.max(0, written - dead - deallocated - exit),
    nof_stores: runs,
    nof_silent: silent,
    bytes_dead: dead + deallocated + exit,
    dead_overwritten: dead,
    dead_deallocated: deallocated,
    dead_exit: exit,
    bytes_silent: silentBytes,
    host_assumed_read: 0,
    class: isString(site) ? "copy" : "plain",
    ...(site.kind === "update" ? { update: true } : {}),
  };
}

function runsOf({ blockSlot, isSampled }: NativeSite, at: (slot: number) => number): number {
  return (isSampled ? at(blockSlot + SampledBlock.runs) : 0) - at(blockSlot);
}

/**
 * Returns how many loads of each site in a loop read the address of the last iteration: all but one per entry of the
 * loop, and no more than found their pointer unchanged.
 */
function loadsAgain(
  sites: readonly NativeSite[],
  countsOf: (site: NativeSite) => { runs: number; fresh: number; entries: number },
): Map<NativeSite, number> {
  const inLoops = sites.filter(({ loop }) => loop !== undefined);
  const bySlot = new Map(inLoops.map((site) => [site.loadSlot, site]));
  const known = new Map<NativeSite, number>();
  const again = (site: NativeSite | undefined): number => {
    if (site?.loop === undefined) return 0;
    const { loop } = site;
    return entryOf(known, site, () => {
      const { runs, entries } = countsOf(site);
      const pointer = bySlot.get(loop.through);
      const pointers = loop.through === 0 ? runs : Math.min(again(pointer), unchanged(pointer));
      return Math.max(0, Math.min(runs - entries, pointers));
    });
  };
  const unchanged = (site: NativeSite | undefined): number => {
    const { runs, fresh } = site === undefined ? { runs: 0, fresh: 0 } : countsOf(site);
    return runs - fresh;
  };
  return new Map(inLoops.map((site) => [site, again(site)]));
}

function loadOf(
  { kind }: NativeSite,
  ips: WasteIp[],
  { runs, fresh, bytes }: Loaded,
  again?: number,
): WasteLoad {
  return {
    ips,
    nof_loads: runs,
    nof_silent: Math.max(0, runs - fresh),
    bytes_loaded: bytes,
    ...(again === undefined ? {} : { nof_again: again }),
    class: kind === "atomic" ? "atomic" : kind === "string" ? "copy" : "plain",
  };
}

type Frame = ReturnType<ReturnType<typeof loadSymbolizer>["frames"]>[number];

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

interface ProcessPlaces {
  /** Last content of `/proc/PID/maps`; empty if unknown. */
  maps: string;
  /** Address near the upper end of the first thread's stack; 0 if unknown. */
  stackTop: number;
  isStackFollowed: boolean;
  /** Folder in which programs can be executed. */
  programs: string;
}

const EXECUTABLE = 0o755;
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) ..(.)(.) \S+ \S+ \d+\s*(.*)$/;
/** Offset of the shadow words in the file; the tables precede them. */
const WORDS_AT = TABLES_END - ARENA;
/** Growth limit of the first thread's stack. The system maps nothing else there. */
const MOST_STACK_BYTES = 120 * 2 ** 20;
const ABOVE_STACK_BYTES = 2 ** 20;

/**
 * Counts bytes that were never read after they were written, by store id. Shared mappings are excluded, since other
 * processes may read them. Stacks are excluded unless they are followed.
 *
 * @param counts path of the file that the process shares
 */
function unreadBytes(counts: string, places: ProcessPlaces): Float64Array {
  const parts: CountedPart[] = [
    { from: WORDS_AT, to: WORDS_AT + 2 ** SHADOW_BITS, sign: 1 },
    ...excludedRanges(counts, places).map(
      ({ start, end }): CountedPart => ({
        from: WORDS_AT + wordOf(start),
        to: WORDS_AT + wordOf(end),
        sign: -1,
      }),
    ),
  ];
  const program = join(places.programs, "unread-reader");
  writeFileSync(program, unreadReaderProgram(parts), { mode: EXECUTABLE });
  const file = openSync(counts, "r");
  try {
    const { status, stdout, error } = spawnSync(program, [], {
      stdio: [file, "pipe", "ignore"],
      maxBuffer: 2 * UNREAD_COUNTS_BYTES,
    });
    if (status !== 0 || stdout.length !== UNREAD_COUNTS_BYTES)
      throw new UserError(`cannot count the unread bytes: ${error?.message ?? `${counts} is not readable`}`);
    const words = new BigInt64Array(new Uint8Array(stdout).buffer);
    return Float64Array.from(words, Number);
  } finally {
    closeSync(file);
  }
}

function wordOf(address: number): number {
  return 2 * (address % 2 ** ADDRESS_BITS);
}

function excludedRanges(
  counts: string,
  { maps, stackTop, isStackFollowed }: ProcessPlaces,
): { start: number; end: number }[] {
  const ranges = maps.split("\n").flatMap((line) => {
    const [, from, to, , sharing, path] = MAPPING.exec(line) ?? [];
    // Files of memshade are mapped shared, too. They are not memory of the program.
    if (sharing !== "s" || path.startsWith(dirname(counts))) return [];
    return [{ start: Number.parseInt(from, 16), end: Number.parseInt(to, 16) }];
  });
  if (isStackFollowed) return ranges;
  ranges.push(...threadStacks(maps));
  if (stackTop > 0) {
    const top = stackTop - (stackTop % PAGE_BYTES);
    ranges.push({ start: top - MOST_STACK_BYTES, end: top + ABOVE_STACK_BYTES });
  }
  return ranges;
}
