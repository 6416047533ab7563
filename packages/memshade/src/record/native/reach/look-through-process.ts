import { partitionPoint } from "../../../ground/bytes/columns.ts";
import type { RetainerRoot } from "../../../profile/model/retainers.ts";
import { Control } from "../../tools/heap/layout.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { LiveTable } from "../../tools/heap/read/live-table.ts";
import { BlockList } from "../../tools/heap/read/reach/block-list.ts";
import { classifyBlocks } from "../../tools/heap/read/reach/classify-blocks.ts";
import type { UnknownReach } from "../../tools/heap/read/reach/look-through.ts";
import { describeRoots, Retainers } from "../../tools/heap/read/reach/retainers.ts";
import { type InstanceReach, OwnedSums, sumUp } from "../../tools/heap/read/reach/sum-up.ts";
import { ShadowReader } from "../../tools/heap/read/read-shadow.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import { contextPath, NO_COUNTERS, PROCESS_INFO } from "../collect/heap-part.ts";
import { type ProcessModule, readModules } from "../collect/modules.ts";
import { Header, Place } from "../layout.ts";
import { NATIVE_LAYOUT } from "../memory-layout.ts";
import { baseName, isAnonymous, type MappedRange } from "./mapped-ranges.ts";
import type { ProcessMemory } from "./process-memory.ts";
import { isChunkHead, processRoots, threadBlock, threadOn } from "./roots.ts";

/** A process that stands still. */
export interface StillProcess {
  /** Number of its initial thread. */
  pid: number;
  /** Tables, and the counters of accesses if there are any. */
  tables: SharedArrayBuffer;
  counters: GranuleCounters | undefined;
  memory: ProcessMemory;
  ranges: readonly MappedRange[];
  /**
   * Lower ends of the used stacks. `running`: threads whose registers are unknown, 0 for the first thread.
   */
  stacks: readonly number[];
  running: ReadonlySet<number>;
  /** Starts of ranges that the program has mapped itself, if they are blocks. */
  mappings: ReadonlySet<number>;
  own: OwnMemory;
  /** True if the allocator is not the C library's. */
  isForeign: boolean;
}

export interface OwnMemory {
  image: string;
  /** Folders of memshade's mapped files. */
  folders: readonly string[];
  /** Ranges of addresses, as starts and ends. */
  ranges: readonly number[];
}

/** Bytes of the image behind its file. */
const IMAGE_BYTES = 2 * 4096;
const UNFOLLOWED = "blocks of 4 GiB or more, or blocks beyond the full tables, may point to them";
const LOADER = /^ld(-|64|\.so)/;

/** Searches the memory of a process for pointers to its live blocks. */
export function findProcessReach(process: StillProcess): InstanceReach | UnknownReach {
  const { tables, counters, memory, stacks, mappings } = process;
  const view = new DataView(tables);
  const isCounted = view.getUint32(Header.isCounting, true) !== 0;
  const info: InstrumentedInfo = { ...PROCESS_INFO, tools: [isCounted ? "heap" : "alloc"] };
  const reader = new ShadowReader({ buffer: tables, counters: counters ?? NO_COUNTERS }, NATIVE_LAYOUT, info);
  if (reader.hasUnfollowedBlocks) return { unknown: UNFOLLOWED };
  const live = new LiveTable(tables, NATIVE_LAYOUT);
  const blocks = new BlockList(live);
  const isMapping = (block: number): boolean => mappings.size > 0 && mappings.has(live.startOf(block));
  const ranges = processRoots({
    ranges: process.ranges,
    memory,
    blocks,
    isMapping,
    stacks,
    running: process.running,
    pid: process.pid,
    ownFolders: process.own.folders,
    own: [...process.own.ranges, ...behindImage(process)],
    hasHadBlocks: hadBlocks(reader),
    isForeign: process.isForeign,
  });
  const isOfLoader = loaderContexts(view, tables, process.own.image);
  const reached: number[] = [];
  // The dynamic linker refers to its blocks in ways of its own.
  for (let block = 0; block < blocks.length; block++)
    if (isOfLoader(live.contextOf(block)) || isMapping(block)) reached.push(block);
  for (const pointer of stacks) {
    const block = blocks.find(pointer);
    if (block >= 0) reached.push(block);
  }
  const retainers = new Retainers(live);
  const isOther = isChunkHead(process.ranges, blocks);
  const space = { memory, ranges, values: [], reached, isOther, retainers };
  const { late } = reader;
  const owned = new OwnedSums(live);
  const times = { timeOf: (block: number) => live.timeOf(block), late };
  const reach = classifyBlocks(blocks, space, times, (owner, sums) => owned.add(owner, sums));
  const modules = readModules(tables, view.getUint32(Header.modules, true));
  return {
    ...sumUp(live, { reach, owned, late }, reader, process.running.size > 0),
    hostMayHold: false,
    retainers: describeRoots(retainers.result(memory), rootPlaces(process, modules)),
  };
}

/** Returns the description of roots by their addresses. */
function rootPlaces(
  { ranges, memory, own, pid }: StillProcess,
  modules: readonly ProcessModule[],
): (address: number) => Omit<RetainerRoot, "row"> {
  const recorded = modules.filter(({ name }) => name !== own.image);
  return (at) => {
    const index = recorded.findIndex(({ isObject, address, bias, start, end }) => {
      const from = bias + address;
      return isObject && at >= from && at < from + (end - start);
    });
    if (index >= 0) return { kind: "static", module: index, address: at - recorded[index]!.bias };
    const found = ranges.findIndex(({ start, end }) => at >= start && at < end);
    if (found < 0) return { kind: "memory" };
    if (ranges[found]!.path === "[stack]") return { kind: "stack" };
    const thread = threadOn(ranges, found, memory);
    if (thread !== undefined && thread !== pid) return { kind: "thread" };
    const block = isAnonymous(ranges[found]!) ? threadBlock(at, ranges[found]!.end, memory) : undefined;
    return block === undefined ? { kind: "memory" } : { kind: "thread", address: at - block };
  };
}

/** Returns a predicate for contexts that allocate in the dynamic linker. */
function loaderContexts(
  view: DataView,
  tables: SharedArrayBuffer,
  image: string,
): (context: number) => boolean {
  const modules = readModules(tables, view.getUint32(Header.modules, true));
  const ours = modules.filter(({ name }) => name === image);
  const loaders = modules.filter(({ name }) => LOADER.test(baseName(name)));
  const [unknown, no, yes] = [0, 1, 2];
  const cache = new Uint8Array(view.getUint32(Place.control + Control.mibNext, true) + 1);
  return (context) => {
    if (cache[context] === unknown) {
      const site = contextPath(view, context, ours)?.[0] ?? 0;
      cache[context] = loaders.some(({ start, end }) => site >= start && site < end) ? yes : no;
    }
    return cache[context] === yes;
  };
}

function behindImage({ ranges, own }: StillProcess): number[] {
  const end = Math.max(0, ...ranges.filter(({ path }) => path === own.image).map((range) => range.end));
  return end === 0 ? [] : [end, end + IMAGE_BYTES];
}

/** Returns a predicate for ranges in which blocks have begun, by the regions with slots. */
function hadBlocks(reader: ShadowReader): (from: number, to: number) => boolean {
  let regions: number[] | undefined;
  return (from, to) => {
    regions ??= [...reader.blocks.regionStarts()];
    const starts = regions;
    const first = partitionPoint(0, starts.length, (i) => starts[i]! < from);
    return first < starts.length && starts[first]! < to;
  };
}
