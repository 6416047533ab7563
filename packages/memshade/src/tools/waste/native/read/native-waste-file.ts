import { existsSync, readFileSync } from "node:fs";
import { loadDemangler } from "../../../../load/demangler.ts";
import { loadSymbolizer } from "../../../../load/symbolizer.ts";
import { counted } from "../../../../model/counted.ts";
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
import { SLOT_BYTES } from "../layout.ts";
import type { NativeSite } from "../plan-waste.ts";
import { readNotes } from "../site-notes.ts";
import { CountsFile, type StoreFate } from "./counts-file.ts";
import { type ProcessPlaces, unreadBytes } from "./unread-bytes.ts";

/** A file whose code was followed: what the run calls it, where it is, and where the notes of its sites are. */
export interface FollowedFile {
  module: NamedModule;
  path: string;
  notes: string;
}

/** How a process was followed, and where its bytes are. */
export type FollowedHow = NativeToolOptions & Omit<ProcessPlaces, "isStackFollowed">;

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

class WasteFileMaker {
  readonly #counts: CountsFile;
  readonly #fates: Map<number, StoreFate>;
  readonly #stores: WasteStore[] = [];
  readonly #loads: WasteLoad[] = [];
  readonly #unread: Float64Array;
  readonly #how: NativeToolOptions;
  readonly #left = { stack: 0, thread: 0, unusual: 0, unplaced: 0 };

  /** @param unread bytes that are unread at the end, by ids */
  constructor(counts: CountsFile, unread: Float64Array, how: NativeToolOptions) {
    this.#counts = counts;
    this.#unread = unread;
    this.#how = how;
    this.#fates = counts.fates(unread);
  }

  make(command: readonly string[], files: readonly FollowedFile[]): WasteFile {
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
      options: { engine: "brief", contexts: false, objects: false, compat: this.#how.compat ?? "" },
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

  #addFile({ module, path, notes }: FollowedFile): void {
    const { sites, from, to, unfollowed, unplaced } = readNotes(readFileSync(notes));
    this.#left.stack += unfollowed.stack;
    this.#left.thread += unfollowed.thread;
    this.#left.unusual += unfollowed.unusual;
    this.#left.unplaced += unplaced;
    const slots = this.#counts.slots(from, to);
    const at = (slot: number): number => Number(slots[(slot - from) / SLOT_BYTES]);
    const ipOf = locator(path, module.index);
    for (const site of sites) {
      const runs = -at(site.blockSlot);
      if (runs <= 0) continue;
      const ips = [ipOf(site.address)];
      if (site.storeSlot !== 0)
        this.#stores.push(
          storeOf(site, runs, ips, at(site.storeSlot + SLOT_BYTES), this.#fates.get(site.storeSlot)),
        );
      if (site.loadSlot !== 0) this.#loads.push(loadOf(site, runs, ips, at(site.loadSlot)));
    }
  }

  #notTracked(): string[] {
    const { thread, unusual, unplaced } = this.#left;
    const { stores, dead } = this.#counts.withoutId(this.#unread);
    const say = (many: number, one: string, others: string, rest: string): string[] =>
      many === 0 ? [] : [`${counted(many, one, others)} ${rest}`];
    return [
      ...(this.#how.includeStack === true ? [] : ["Accesses of the stack are not followed."]),
      "What system calls may read or write counts as read.",
      "Atomic instructions count as loads, and what they store as read. String instructions that go backwards are not followed.",
      ...say(
        ...([this.#counts.unknownCalls(), "system call", "system calls"] as const),
        "were made of which nobody knows what memory they reach: what they read counts as unread.",
      ),
      ...say(
        thread,
        "instruction",
        "instructions",
        "on data of threads (thread-local storage) are not followed.",
      ),
      ...say(
        ...([unusual, "instruction", "instructions"] as const),
        "that reach memory by masks, vectors of addresses and the like are not followed.",
      ),
      ...say(unplaced, "instruction", "instructions", "found no room in the tables and are not followed."),
      ...say(
        ...([stores, "store that ran", "stores that ran"] as const),
        `found no id of 16 bits left: ${counted(dead, "dead byte is", "dead bytes are")} not told by place.`,
      ),
    ];
  }
}

function storeOf(
  { bytes, kind }: NativeSite,
  runs: number,
  ips: WasteIp[],
  counted: number,
  { dead, deallocated, exit }: StoreFate = { dead: 0, deallocated: 0, exit: 0 },
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

function loadOf({ bytes, kind }: NativeSite, runs: number, ips: WasteIp[], fresh: number): WasteLoad {
  return {
    ips,
    nof_loads: runs,
    nof_silent: Math.max(0, runs - fresh),
    bytes_loaded: runs * bytes,
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
