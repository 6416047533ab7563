import { decodeModule } from "../../../../../code/wasm/index.ts";
import { isMemory } from "../../../followed-memory.ts";
import { SHADOW_MEMORY } from "../../../host-interface.ts";
import type { InstrumentedInfo, PointerRoots, StaticPlaces } from "../../../options.ts";
import type { LiveBlock } from "../live-blocks.ts";
import { columnsOf } from "../live-columns.ts";
import { ShadowReader } from "../read-shadow.ts";
import { segmentStart } from "../segment-start.ts";
import { BlockList } from "./block-list.ts";
import { type BlockTimes, classifyBlocks, type PointerSpace } from "./classify-blocks.ts";
import { flatMemory } from "./program-memory.ts";
import { type InstanceReach, sumUp } from "./sum-up.ts";

/** Stacks are at least that large: no linker makes them smaller by itself. */
const SMALLEST_STACK_BYTES = 65_536;
/** Allocators keep what they know of a block in front of it. */
const HEADER_BYTES = 16;

/** Where the heap and the stack are now. */
export interface HeapAndStack {
  /** Address of the lowest block that there ever was, as far as that is known. */
  lowestBlock: number;
  /** Value of the stack pointer, if it is known. */
  stackPointer: number | undefined;
  memoryBytes: number;
}

/**
 * Beginnings and ends of the memory in which pointers are roots: static data, and the stack as far as it is in use.
 *
 *     0 ─────────── stack, not in use  no root: what was there may have been released since
 *     pointer ───── stack, in use      root
 *     stackTo ───── static data        root, but for the allocator's own
 *     heap ──────── blocks             no roots, nor what lies between them: freed memory, and the allocator's own
 *     … dataEnd     static data        root, if there is some behind
 */
export function rootRanges(roots: PointerRoots, now: HeapAndStack): number[] {
  const { dataEnd, allocatorState } = roots;
  const heap = now.lowestBlock - HEADER_BYTES;
  const end = Math.min(now.memoryBytes, Math.max(heap, dataEnd));
  return without(0, end, [...unusedStack(roots, now.stackPointer), ...allocatorState]);
}

/** The part of the stack that is not in use, as beginning and end. */
function unusedStack({ stackFrom, stackTo }: PointerRoots, pointer: number | undefined): number[] {
  if (pointer === undefined || pointer <= stackFrom || pointer > stackTo) return [];
  // Below a stack that lies above the data there may be more of them, zeroed at the start.
  const from = stackFrom === 0 ? 0 : Math.max(stackFrom, stackTo - SMALLEST_STACK_BYTES);
  return from < pointer ? [from, pointer] : [];
}

/** What is left of a range of addresses without others. @param holes beginnings and ends, in any order */
export function without(from: number, to: number, holes: readonly number[]): number[] {
  const starts = holes.flatMap((_, i) => (i % 2 === 0 ? [i] : [])).sort((a, b) => holes[a] - holes[b]);
  const ranges: number[] = [];
  let at = from;
  for (const i of starts) {
    if (holes[i] > at) ranges.push(at, Math.min(holes[i], to));
    at = Math.max(at, holes[i + 1]);
    if (at >= to) return ranges;
  }
  ranges.push(at, to);
  return ranges;
}

/** In what state a program is when it is looked through. */
export interface ProgramState {
  /** Functions of it are running, or were left in the middle. Undefined: that is to be told from its stack pointer. */
  inside: boolean | undefined;
  /** The host calls functions of it, and may have addresses of blocks. */
  hostMayHold: boolean;
  /** The module as it was before it was rewritten, if that is at hand. */
  original: Uint8Array | undefined;
}

/** Why it is not known, as the end of a sentence. */
export interface UnknownReach {
  unknown: string;
}

/**
 * Looks for pointers to an instance's live blocks in its memory and its globals; in the thread that it runs in, and not while
 * it goes on elsewhere. Undefined: it records no blocks.
 *
 * @param exports all of them, those that are hidden from the program too.
 */
export function lookThrough(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  state: ProgramState,
): InstanceReach | UnknownReach | undefined {
  const { layout, roots } = info;
  const shadow = exports[SHADOW_MEMORY];
  if (layout === undefined || roots === undefined || !isMemory(shadow)) return undefined;
  if (typeof roots === "string") return { unknown: roots };
  const program = exports[roots.memory];
  if (!isMemory(program)) return undefined;
  const reader = new ShadowReader(shadow, layout, info);
  if (reader.hasSeveralInstances) return { unknown: "the variables of other threads cannot be seen" };
  if (reader.hasUnfollowedBlocks)
    return { unknown: "there are blocks beyond --max-blocks, which may point to them" };
  if (info.sharedMemory && info.acrossThreads !== true)
    return { unknown: "threads share the memory, and each was followed on its own" };
  const live = columnsOf(sortedBlocks(reader));
  const blocks = new BlockList(live.starts, live.sizes);
  const values = roots.globals.map((name) => addressIn(exports[name]));
  const stackPointer = roots.stackPointer === undefined ? undefined : addressIn(exports[roots.stackPointer]);
  const inside =
    state.inside ??
    (stackPointer !== undefined && stackPointer > roots.stackFrom && stackPointer < roots.stackTo);
  const times: BlockTimes = {
    times: live.times,
    late: Math.floor(reader.now / 2) + 1,
  };
  const space: PointerSpace = {
    memory: flatMemory(program.buffer, info.memory64 === true ? 8 : 4),
    ranges: rootRanges(roots, {
      lowestBlock: Math.min(reader.blocks.lowest() ?? Number.POSITIVE_INFINITY, live.starts[0] ?? 0),
      // Outside of the functions it is the host that keeps a part of the stack for itself: what leads from there is what it holds.
      stackPointer: inside || stackPointer === undefined ? stackPointer : roots.stackTo,
      memoryBytes: program.buffer.byteLength,
    }),
    values,
    isOther: live.length === 0 ? undefined : isInitialValue(initialData(state.original, info.statics)),
  };
  const found = { ...classifyBlocks(blocks, space, times), late: times.late };
  return { ...sumUp(live, found, reader, inside), hostMayHold: state.hostMayHold };
}

function sortedBlocks(reader: ShadowReader): LiveBlock[] {
  return [...reader.blocks].sort((a, b) => a.address - b.address);
}

function addressIn(global: unknown): number {
  const { value } = global as { value: number | bigint };
  return typeof value === "bigint" ? Number(BigInt.asUintN(64, value)) : value >>> 0;
}

/** Bytes of the program's memory from an address on, as they were at the start. */
interface InitialData {
  from: number;
  bytes: Uint8Array;
}

/**
 * Tells values that the program began with where they are: what its data was before it began, and is still, is no pointer to a block behind
 * that data, whose address no linker knows. It is text, or a table of numbers.
 */
export function isInitialValue(initial: InitialData | undefined): PointerSpace["isOther"] {
  if (initial === undefined) return undefined;
  const { bytes, from } = initial;
  return (value, at) => {
    const first = at - from;
    // Segments may end inside of a word, whose other bytes are zero.
    if (value < from + bytes.length || first <= -4 || first >= bytes.length) return false;
    const byte = (index: number): number => (bytes[first + index] ?? 0) << (8 * index);
    return (byte(0) | byte(1) | byte(2) | byte(3)) >>> 0 === value;
  };
}

/** What the segments of a module put into its memory, from the first to the last one; undefined: nothing, or nothing that is known. */
function initialData(
  original: Uint8Array | undefined,
  statics: StaticPlaces | undefined,
): InitialData | undefined {
  // An instrumented module may be read where the original one is not at hand.
  if (original === undefined || original.length === 0) return undefined;
  const module = decodeModule(original);
  const segments = module.data.flatMap(({ start, end }, index) => {
    const address = segmentStart(module, index, statics);
    return address === undefined || start === end ? [] : [{ address, bytes: original.subarray(start, end) }];
  });
  const from = Math.min(...segments.map(({ address }) => address));
  const end = Math.max(...segments.map(({ address, bytes }) => address + bytes.length));
  if (segments.length === 0) return undefined;
  const bytes = new Uint8Array(end - from);
  for (const segment of segments) bytes.set(segment.bytes, segment.address - from);
  return { from, bytes };
}
