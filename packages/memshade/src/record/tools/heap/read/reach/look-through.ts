import { decodeModule } from "../../../../../code/wasm/index.ts";
import { isMemory } from "../../../followed-memory.ts";
import { SHADOW_MEMORY } from "../../../host-interface.ts";
import type { InstrumentedInfo, PointerRoots, StaticPlaces } from "../../../options.ts";
import { LiveTable } from "../live-table.ts";
import { ShadowReader } from "../read-shadow.ts";
import { segmentStart } from "../segment-start.ts";
import { BlockList } from "./block-list.ts";
import { classifyBlocks, type PointerSpace } from "./classify-blocks.ts";
import { flatMemory } from "./program-memory.ts";
import { describeRoots, Retainers } from "./retainers.ts";
import { type InstanceReach, OwnedSums, sumUp } from "./sum-up.ts";

/** Least size of a stack, bytes: no linker makes a smaller one by default. */
const SMALLEST_STACK_BYTES = 65_536;
/** Bytes before a block in which allocators store its header. */
const HEADER_BYTES = 16;

export interface HeapAndStack {
  /** Address of the lowest block so far, as far as known. */
  lowestBlock: number;
  stackPointer: number | undefined;
  memoryBytes: number;
}

/**
 * Returns the memory ranges in which pointers are roots, as starts and ends: static data, and the part of the
 * stack that is in use.
 *
 *   0 ─────────── stack, not in use    no root: may hold released pointers
 *   pointer ───── stack, in use        root
 *   stackTo ───── static data          root, except for the allocator's own
 *   heap ──────── blocks               no roots, nor the memory between them: freed memory and the allocator's own
 *   … dataEnd     static data          root, if there is some behind the heap
 */
export function rootRanges(roots: PointerRoots, now: HeapAndStack): number[] {
  const { dataEnd, allocatorState } = roots;
  const heap = now.lowestBlock - HEADER_BYTES;
  const end = Math.min(now.memoryBytes, Math.max(heap, dataEnd));
  return without(0, end, [...unusedStack(roots, now.stackPointer), ...allocatorState]);
}

function unusedStack({ stackFrom, stackTo }: PointerRoots, pointer: number | undefined): number[] {
  if (pointer === undefined || pointer <= stackFrom || pointer > stackTo) return [];
  // A stack above the data may have other stacks below it, which were zeroed at the start.
  const from = stackFrom === 0 ? 0 : Math.max(stackFrom, stackTo - SMALLEST_STACK_BYTES);
  return from < pointer ? [from, pointer] : [];
}

/** Returns a range of addresses without the holes. @param holes starts and ends, in any order */
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

export interface ProgramState {
  /** True if its functions are running or were left in the middle. Undefined if the stack pointer decides. */
  inside: boolean | undefined;
  /** True if the host calls its functions, and may hold addresses of blocks. */
  hostMayHold: boolean;
  /** The module before instrumentation, if available. */
  original: Uint8Array | undefined;
}

export interface UnknownReach {
  unknown: string;
}

/**
 * Searches an instance's memory and globals for pointers to its live blocks. Must run in the instance's
 * thread, while the program does not run elsewhere. Undefined if the instance records no blocks.
 *
 * @param exports all exports, including those that are hidden from the program
 */
export function findReach(
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
  if (reader.hasUnfollowedBlocks) return { unknown: "blocks beyond --max-blocks may point to them" };
  if (info.sharedMemory && info.acrossThreads !== true)
    return { unknown: "threads share the memory, and each was recorded separately" };
  const live = new LiveTable(shadow.buffer, layout);
  const blocks = new BlockList(live);
  const values = roots.globals.map((name) => addressIn(exports[name]));
  const stackPointer = roots.stackPointer === undefined ? undefined : addressIn(exports[roots.stackPointer]);
  const inside =
    state.inside ??
    (stackPointer !== undefined && stackPointer > roots.stackFrom && stackPointer < roots.stackTo);
  const memory = flatMemory(program.buffer, info.memory64 === true ? 8 : 4);
  const retainers = new Retainers(live);
  const space: PointerSpace = {
    memory,
    ranges: rootRanges(roots, {
      lowestBlock: Math.min(
        reader.blocks.lowest() ?? Number.POSITIVE_INFINITY,
        live.length === 0 ? 0 : live.startOf(0),
      ),
      // Outside of the program's functions, the host may have reserved a part of the stack. Pointers there
      // are the host's.
      stackPointer: inside || stackPointer === undefined ? stackPointer : roots.stackTo,
      memoryBytes: program.buffer.byteLength,
    }),
    values,
    isOther: live.length === 0 ? undefined : isInitialValue(initialData(state.original, info.statics)),
    retainers,
  };
  const { late } = reader;
  const owned = new OwnedSums(live);
  const times = { timeOf: (block: number) => live.timeOf(block), late };
  const reach = classifyBlocks(blocks, space, times, (owner, sums) => owned.add(owner, sums));
  const { stackFrom, stackTo } = roots;
  return {
    ...sumUp(live, { reach, owned, late }, reader, inside),
    hostMayHold: state.hostMayHold,
    retainers: describeRoots(retainers.result(memory), (address) =>
      address >= stackFrom && address < stackTo ? { kind: "stack" } : { kind: "static", address },
    ),
  };
}

function addressIn(global: unknown): number {
  const { value } = global as { value: number | bigint };
  return typeof value === "bigint" ? Number(BigInt.asUintN(64, value)) : value >>> 0;
}

interface InitialData {
  from: number;
  bytes: Uint8Array;
}

/**
 * Returns a test for values that the data had at the start and still has. Such a value is no pointer to a
 * block after the data, because no linker knows that address; it is text or a number.
 */
export function isInitialValue(initial: InitialData | undefined): PointerSpace["isOther"] {
  if (initial === undefined) return undefined;
  const { bytes, from } = initial;
  return (value, at) => {
    const first = at - from;
    // A segment may end inside a word; the other bytes are zero.
    if (value < from + bytes.length || first <= -4 || first >= bytes.length) return false;
    const byte = (index: number): number => (bytes[first + index] ?? 0) << (8 * index);
    return (byte(0) | byte(1) | byte(2) | byte(3)) >>> 0 === value;
  };
}

/**
 * Returns the initial data of a module from its first segment to its last; undefined if there is none, or it
 * is unknown.
 */
function initialData(
  original: Uint8Array | undefined,
  statics: StaticPlaces | undefined,
): InitialData | undefined {
  // Undefined for an instrumented module that is read without its original.
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
