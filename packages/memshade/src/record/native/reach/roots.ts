import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import type { BlockList } from "../../tools/heap/read/reach/block-list.ts";
import { without } from "../../tools/heap/read/reach/look-through.ts";
import { baseName, isAnonymous, type MappedRange } from "./mapped-ranges.ts";
import type { ProcessMemory } from "./process-memory.ts";

const WORD_BYTES = 8;
/**
 * Layout of glibc's allocator: heaps of thread arenas begin at multiples of this size, with the arena's data
 * close to the start.
 */
const ARENA_BYTES = 2 ** 26;
const ARENA_DATA_AT: readonly number[] = [0x20, 0x30];
/** Offset of a heap's size. */
const ARENA_SIZE_AT = 16;
/**
 * Bit of a chunk that was mapped separately, in the word with its size before the block. The chunk begins 16
 * bytes before the block.
 */
const [HEAD_BYTES, MAPPED_BIT, SIZE_BITS] = [16, 2, 7];
/**
 * Search for a thread's control block: distance from the end of its stack, alignment, offset of the second word
 * with its own address (the first is at 0), offset of the thread number.
 */
const [THREAD_WITHIN, THREAD_ALIGNMENT, THREAD_SELF_AT, THREAD_ID_AT] = [16_384, 64, 16, 720];

export interface RootSources {
  ranges: readonly MappedRange[];
  memory: ProcessMemory;
  blocks: BlockList;
  /** True for blocks that the program has mapped itself, which no allocator owns. */
  isMapping: (block: number) => boolean;
  /**
   * Lower ends of the used stacks, where they are known. `running`: the other threads, 0 for the initial one.
   */
  stacks: readonly number[];
  running: ReadonlySet<number>;
  /** Number of the initial thread. */
  pid: number;
  /** Memory of memshade: folders of its files, and ranges as starts and ends. */
  ownFolders: readonly string[];
  own: readonly number[];
  /** Returns true if a block has ever begun in a range. Used for allocators other than the C library's. */
  hasHadBlocks: (from: number, to: number) => boolean;
  isForeign: boolean;
}

/**
 * Returns the memory in which pointers are roots, as starts and ends: all writable memory, except for the
 * allocator's (which contains free memory too) and unused parts of stacks.
 */
export function processRoots(sources: RootSources): number[] {
  const { own, ranges } = sources;
  const roots = ranges.filter((range) => isRoot(range, sources.ownFolders));
  return withoutAll(roots, [...own, ...unusedStacks(sources), ...allocatorMemory(sources, roots)]);
}

function withoutAll(roots: readonly MappedRange[], holes: readonly number[]): number[] {
  const merged = mergeRanges(holes);
  let next = 0;
  return roots.flatMap(({ start, end }) => {
    while (next < merged.length && merged[next + 1]! <= start) next += 2;
    const from = next;
    let to = from;
    while (to < merged.length && merged[to]! < end) to += 2;
    const parts = without(start, end, merged.slice(from, to));
    return parts.filter((_, i) => parts[i - (i % 2)]! < parts[i - (i % 2) + 1]!);
  });
}

/** Sorts ranges, and merges those that touch. */
function mergeRanges(ranges: readonly number[]): number[] {
  const order = Array.from({ length: ranges.length / 2 }, (_, i) => 2 * i);
  order.sort((a, b) => ranges[a]! - ranges[b]!);
  const merged: number[] = [];
  for (const i of order) {
    const [start, end] = [ranges[i]!, ranges[i + 1]!];
    if (merged.length > 0 && start <= merged.at(-1)!)
      merged[merged.length - 1] = Math.max(merged.at(-1)!, end);
    else merged.push(start, end);
  }
  return merged;
}

function isRoot(range: MappedRange, ownFolders: readonly string[]): boolean {
  const { access, path } = range;
  if (access[0] !== "r") return false;
  if (path.startsWith("[v") || (path.startsWith("/dev/") && !isMemoryFile(path))) return false;
  if (ownFolders.some((folder) => path.startsWith(`${folder}/`))) return false;
  return access[1] === "w" || isAnonymous(range);
}

/** Returns true for files that only share memory. */
function isMemoryFile(path: string): boolean {
  return path.startsWith("/dev/zero") || path.startsWith("/dev/shm/");
}

/** Returns the part of each stack below the stack pointer, and whole stacks of ended threads. */
function unusedStacks({ ranges, memory, stacks, running, pid }: RootSources): number[] {
  return ranges.flatMap((range, index) => {
    const { start, end } = range;
    const thread = threadOn(ranges, index, memory);
    // The initial thread's stack has a name. Its control block is elsewhere, behind a guard by chance.
    if (thread === undefined || thread === pid) return [];
    const pointers = stacks.filter((pointer) => pointer >= start && pointer < end);
    if (pointers.length > 0) return [start, Math.min(...pointers)];
    return running.has(thread) ? [] : [start, end];
  });
}

/**
 * Returns the thread whose stack a range is, 0 for the initial one; undefined if it is no stack. The C
 * library makes stacks with a guard below them.
 */
export function threadOn(
  ranges: readonly MappedRange[],
  index: number,
  memory: ProcessMemory,
): number | undefined {
  const range = ranges[index]!;
  const { start, end, path } = range;
  if (path === "[stack]") return 0;
  const guard = ranges[index - 1];
  if (!isAnonymous(range) || guard?.end !== start || guard.access !== "---p") return undefined;
  const from = Math.max(start, end - THREAD_WITHIN);
  for (let at = end - THREAD_ALIGNMENT; at >= from; at -= THREAD_ALIGNMENT)
    if (isThreadBlock(at, memory)) return memory.half(at + THREAD_ID_AT);
  return undefined;
}

function isThreadBlock(at: number, memory: ProcessMemory): boolean {
  return memory.word(at) === at && memory.word(at + THREAD_SELF_AT) === at;
}

/** Returns the control block of a thread that follows an address; its thread-local data ends there. */
export function threadBlock(address: number, end: number, memory: ProcessMemory): number | undefined {
  const last = Math.min(end - THREAD_ALIGNMENT, address + THREAD_WITHIN);
  let at = Math.ceil(address / THREAD_ALIGNMENT) * THREAD_ALIGNMENT;
  while (at <= last && !isThreadBlock(at, memory)) at += THREAD_ALIGNMENT;
  return at <= last ? at : undefined;
}

/**
 * Returns memory from which allocators allocate blocks, as starts and ends. Where it is unknown, only the
 * blocks.
 */
function allocatorMemory(sources: RootSources, roots: readonly MappedRange[]): number[] {
  const { memory, blocks, isMapping } = sources;
  const ranges: number[] = roots.flatMap((range) => {
    if (range.path === "[heap]") return [range.start, range.end];
    return isAnonymous(range) ? arenaHeaps(range, memory) : [];
  });
  const inKnown = new RangeIndex(mergeRanges(ranges));
  const inRoots = new RangeIndex(roots.flatMap(({ start, end }) => [start, end]));
  /** Ranges of other allocators, and where the data of an object at their beginning ends. */
  const foreign = new Map<number, number>();
  const isOfOther = (range: MappedRange): boolean => isAnonymous(range) && inKnown.find(range.start) < 0;
  for (let block = 0; block < blocks.length; block++) {
    const start = blocks.startOf(block);
    if (inKnown.find(start) >= 0 || isMapping(block)) continue;
    const index = inRoots.find(start);
    if (index < 0 || start >= (foreign.get(index) ?? Number.POSITIVE_INFINITY)) continue;
    const range = roots[index]!;
    const chunk = mappedChunk(start, range, memory);
    ranges.push(...(chunk ?? [start, start + blocks.sizeOf(block)]));
    if (chunk === undefined && isOfOther(range)) foreign.set(index, endOfData(sources.ranges, range, memory));
  }
  if (foreign.size > 0 || sources.isForeign)
    roots.forEach((range, index) => {
      if (!isOfOther(range)) return;
      const from = foreign.get(index);
      if (from !== undefined || sources.hasHadBlocks(range.start, range.end))
        ranges.push(from ?? endOfData(sources.ranges, range, memory), range.end);
    });
  return ranges;
}

/** Finds the range that contains an address, among sorted ranges that do not overlap. */
class RangeIndex {
  readonly #ranges: readonly number[];
  /** Index of the last range that was found: most addresses are in the range of the previous one. */
  #last = 0;

  constructor(ranges: readonly number[]) {
    this.#ranges = ranges;
  }

  /** Returns −1 if no range contains the address. */
  find(address: number): number {
    const last = this.#last;
    if (address >= this.#ranges[2 * last]! && address < this.#ranges[2 * last + 1]!) return last;
    let low = 0;
    let high = this.#ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[2 * middle]! <= address) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || address >= this.#ranges[2 * low - 1]!) return -1;
    this.#last = low - 1;
    return this.#last;
  }
}

function arenaHeaps({ start, end }: MappedRange, memory: ProcessMemory): number[] {
  const heaps: number[] = [];
  for (let at = Math.ceil(start / ARENA_BYTES) * ARENA_BYTES; at < end; at += ARENA_BYTES) {
    const arena = memory.word(at);
    const size = memory.word(at + ARENA_SIZE_AT);
    const isHeap =
      ARENA_DATA_AT.includes(arena % ARENA_BYTES) &&
      size > 0 &&
      size <= ARENA_BYTES &&
      size % PAGE_BYTES === 0 &&
      at + size <= end;
    if (isHeap) heaps.push(at, at + size);
  }
  return heaps;
}

/** Returns the pages that the C library has mapped for a single block; undefined if the block has none. */
function mappedChunk(start: number, range: MappedRange, memory: ProcessMemory): [number, number] | undefined {
  const chunk = start - HEAD_BYTES;
  if (chunk < range.start || start % WORD_BYTES !== 0) return undefined;
  const size = memory.word(chunk + WORD_BYTES);
  if ((size & MAPPED_BIT) === 0) return undefined;
  // The pages of an aligned block begin before its chunk.
  const from = chunk - memory.word(chunk);
  const to = chunk + size - (size % (SIZE_BITS + 1));
  const isPages = from % PAGE_BYTES === 0 && to % PAGE_BYTES === 0;
  return isPages && from >= range.start && to <= range.end && to > start ? [from, to] : undefined;
}

const [ELF_MAGIC, ELF_SEGMENTS_AT, ELF_SEGMENT_COUNT_AT, ELF_SEGMENT_BYTES] = [0x464c457f, 32, 56, 56];
const [LOADED, ADDRESS_AT, SIZE_AT] = [1, 16, 40];

/** Returns the end of an object's data that reaches into a range, or the range's start. */
function endOfData(ranges: readonly MappedRange[], range: MappedRange, memory: ProcessMemory): number {
  const index = ranges.indexOf(range);
  const before = ranges[index - 1];
  if (before === undefined || before.end !== range.start || before.inode === 0) return range.start;
  const first = ranges.find(({ path, inode }) => path === before.path && inode === before.inode)!;
  if (memory.half(first.start) !== ELF_MAGIC) return range.start;
  const segments = first.start + memory.word(first.start + ELF_SEGMENTS_AT);
  const count = memory.half(first.start + ELF_SEGMENT_COUNT_AT) & 0xffff;
  let lowest = Number.POSITIVE_INFINITY;
  let end = 0;
  for (let i = 0; i < count; i++) {
    const at = segments + i * ELF_SEGMENT_BYTES;
    if (memory.half(at) !== LOADED) continue;
    const address = memory.word(at + ADDRESS_AT);
    lowest = Math.min(lowest, address - (address % PAGE_BYTES));
    end = Math.max(end, address + memory.word(at + SIZE_AT));
  }
  const last = Math.ceil((end - lowest) / PAGE_BYTES) * PAGE_BYTES + first.start;
  return Math.min(range.end, Math.max(range.start, last));
}

const C_LIBRARY = /^libc[.-]/;

/**
 * Returns a predicate for words in the C library's data that are addresses of free memory, not of a block.
 * The allocator's lists refer to the chunk after a block, whose head may overlap the end of that block.
 */
export function isChunkHead(
  ranges: readonly MappedRange[],
  blocks: BlockList,
): (value: number, at: number, block: number) => boolean {
  const data: number[] = [];
  ranges.forEach((range, i) => {
    const before = ranges[i - 1];
    const isBehind =
      before?.end === range.start && C_LIBRARY.test(baseName(before.path)) && isAnonymous(range);
    if (range.access[1] === "w" && (isBehind || C_LIBRARY.test(baseName(range.path))))
      data.push(range.start, range.end);
  });
  const [lowest, highest] = [Math.min(...data), Math.max(...data)];
  return (value, at, block) => {
    if (at < lowest || at >= highest) return false;
    let isOfLibrary = false;
    for (let i = 0; i < data.length; i += 2) isOfLibrary ||= at >= data[i]! && at < data[i + 1]!;
    if (!isOfLibrary) return false;
    const size = blocks.sizeOf(block);
    const chunk = Math.max(32, 16 * Math.floor((size + 8 + 15) / 16));
    return value === blocks.startOf(block) + chunk - 16;
  };
}
