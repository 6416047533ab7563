import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { nativeColumns } from "../../tools/heap/read/live-columns.ts";
import { BlockList } from "../../tools/heap/read/reach/block-list.ts";
import { classifyBlocks } from "../../tools/heap/read/reach/classify-blocks.ts";
import type { UnknownReach } from "../../tools/heap/read/reach/look-through.ts";
import { type InstanceReach, sumUp } from "../../tools/heap/read/reach/sum-up.ts";
import { ShadowReader } from "../../tools/heap/read/read-shadow.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import { contextPath, NO_COUNTERS, PROCESS_INFO } from "../collect/heap-part.ts";
import { readModules } from "../collect/modules.ts";
import { Header } from "../layout.ts";
import { NATIVE_LAYOUT } from "../memory-layout.ts";
import { isChunkHead } from "./chunk-heads.ts";
import { baseName, type MappedRange } from "./mapped-ranges.ts";
import type { ProcessMemory } from "./process-memory.ts";
import { processRoots } from "./roots.ts";

/** A process that stands still. */
export interface StillProcess {
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
  const live = nativeColumns(tables, NATIVE_LAYOUT);
  const blocks = new BlockList(live.starts, live.sizes);
  const isMapping = (block: number): boolean => mappings.has(blocks.starts[block]);
  const ranges = processRoots({
    ranges: process.ranges,
    memory,
    blocks,
    isMapping,
    stacks,
    running: process.running,
    ownFolders: process.own.folders,
    own: [...process.own.ranges, ...behindImage(process)],
    hasHadBlocks: hadBlocks(reader),
    isForeign: process.isForeign,
  });
  const late = Math.floor(reader.now / 2) + 1;
  const isOfLoader = loaderContexts(view, tables, process.own.image);
  const reached: number[] = [];
  // The dynamic linker refers to its blocks in ways of its own.
  for (let block = 0; block < blocks.length; block++)
    if (isOfLoader(live.contexts[block]) || (mappings.size > 0 && isMapping(block))) reached.push(block);
  for (const pointer of stacks) {
    const block = blocks.find(pointer);
    if (block >= 0) reached.push(block);
  }
  const space = { memory, ranges, values: [], reached, isOther: isChunkHead(process.ranges, blocks) };
  const found = classifyBlocks(blocks, space, { times: live.times, late });
  return { ...sumUp(live, { ...found, late }, reader, process.running.size > 0), hostMayHold: false };
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
  const cache = new Map<number, boolean>();
  return (context) => {
    let isOfLoader = cache.get(context);
    if (isOfLoader === undefined) {
      const site = contextPath(view, context, ours)?.[0] ?? 0;
      isOfLoader = loaders.some(({ start, end }) => site >= start && site < end);
      cache.set(context, isOfLoader);
    }
    return isOfLoader;
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
    return regions.some((start) => start >= from && start < to);
  };
}
