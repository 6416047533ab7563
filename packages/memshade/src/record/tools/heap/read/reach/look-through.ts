import { decodeModule } from "../../../../../code/wasm/index.ts";
import { REACH_FIELDS } from "../../../../../profile/model/reach-fields.ts";
import { isMemory } from "../../../followed-memory.ts";
import { SHADOW_MEMORY } from "../../../host-interface.ts";
import type { InstrumentedInfo, PointerRoots, StaticPlaces } from "../../../options.ts";
import type { LiveBlock } from "../live-blocks.ts";
import { ShadowReader } from "../read-shadow.ts";
import { segmentStart } from "../segment-start.ts";
import { AllocationPauses } from "./allocation-pauses.ts";
import { BlockList } from "./block-list.ts";
import {
  type BlockTimes,
  type Classified,
  classifyBlocks,
  type InitialData,
  type PointerSpace,
  Reach,
} from "./classify-blocks.ts";
import {
  PLACE_OF_BEHIND,
  PLACE_OF_DONE,
  PLACE_OF_IDLE,
  PLACE_OF_LATE,
  PLACE_OF_LATE_BEHIND,
  PLACE_OF_REACH,
  PLACE_OF_SETTLED,
} from "./reach-sums.ts";

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

function without(from: number, to: number, holes: readonly number[]): number[] {
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

/** Blocks of a context, and how many of them some stand for that are followed. */
interface HeldBlocks {
  blocks: number;
  /** Work of the program when they began, and how many each stands for. */
  readonly followed: { startWork: number; stands: number }[];
}

/**
 * Late blocks inside of what only the host leads to: how many of them there were in the first half of the program's work. The clock of
 * allocations stands still while a world is simulated that has all of its parts.
 */
export class SettledBlocks {
  readonly #contexts = new Map<number, HeldBlocks>();

  add(context: number, followed: { readonly startWork: number; readonly stands: number } | undefined): void {
    const held = this.#contexts.get(context) ?? { blocks: 0, followed: [] };
    this.#contexts.set(context, held);
    held.blocks++;
    if (followed !== undefined) held.followed.push(followed);
  }

  /** By context. Where none is followed, as many as elsewhere. `work`: all of the program. */
  settled(work: number): Map<number, number> {
    const elsewhere =
      earlyPart(
        [...this.#contexts.values()].flatMap(({ followed }) => followed),
        work,
      ) ?? 0;
    return new Map(
      Array.from(this.#contexts, ([context, { blocks, followed }]) => [
        context,
        Math.round(blocks * (earlyPart(followed, work) ?? elsewhere)),
      ]),
    );
  }
}

/** Undefined where there are none. */
function earlyPart(blocks: HeldBlocks["followed"], work: number): number | undefined {
  const sum = (of: HeldBlocks["followed"]): number => of.reduce((total, { stands }) => total + stands, 0);
  const all = sum(blocks);
  return all === 0 ? undefined : sum(blocks.filter(({ startWork }) => startWork * 2 < work)) / all;
}

/** Which of an instance's live blocks can still be reached, by context; threads can send it to each other. */
export interface InstanceReach {
  /** Indices of the contexts' entries. */
  contexts: Uint32Array;
  /** For each of them one number per field of `REACH_FIELDS`. */
  sums: Float64Array;
  /** The program was inside of its functions: what seems lost may be in their variables, and is possibly lost only. */
  inside: boolean;
  /** The host may have addresses of blocks. */
  hostMayHold: boolean;
  /** Accesses to live blocks and static data after the first look that found the newest allocation, which is soon behind that. */
  accessesAfter: number;
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
  const live = sortedBlocks(reader);
  const blocks = new BlockList(
    Float64Array.from(live, ({ address }) => address),
    Float64Array.from(live, ({ size }) => size),
  );
  const values = roots.globals.map((name) => addressIn(exports[name]));
  const stackPointer = roots.stackPointer === undefined ? undefined : addressIn(exports[roots.stackPointer]);
  const inside =
    state.inside ??
    (stackPointer !== undefined && stackPointer > roots.stackFrom && stackPointer < roots.stackTo);
  const times: BlockTimes = {
    times: Float64Array.from(live, ({ time }) => time),
    late: Math.floor(reader.now / 2) + 1,
  };
  const space: PointerSpace = {
    buffer: program.buffer,
    wordBytes: info.memory64 === true ? 8 : 4,
    ranges: rootRanges(roots, {
      lowestBlock: Math.min(reader.blocks.lowest() ?? Number.POSITIVE_INFINITY, live[0]?.address ?? 0),
      // Outside of the functions it is the host that keeps a part of the stack for itself: what leads from there is what it holds.
      stackPointer: inside || stackPointer === undefined ? stackPointer : roots.stackTo,
      memoryBytes: program.buffer.byteLength,
    }),
    values,
    initial: live.length === 0 ? undefined : initialData(state.original, info.statics),
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

function sumUp(
  blocks: readonly LiveBlock[],
  { reach, behindBytes, behindBlocks, behindLate, late }: Classified & { late: number },
  reader: ShadowReader,
  inside: boolean,
): Omit<InstanceReach, "hostMayHold"> {
  let accessesAfter = reader.accessesAfterAllocations();
  const places = new Map<number, number>();
  for (const { context } of blocks) if (!places.has(context)) places.set(context, places.size);
  const sums = new Float64Array(places.size * REACH_FIELDS.length);
  const pauses = new AllocationPauses();
  const settled = new SettledBlocks();
  let accessesSince = 0;
  blocks.forEach((block, index) => {
    const { context, size, time } = block;
    const at = (places.get(context) ?? 0) * REACH_FIELDS.length;
    const found = reach[index] as keyof typeof PLACE_OF_REACH;
    const place = at + (PLACE_OF_REACH[inside && found !== Reach.Reachable ? Reach.Possible : found] ?? 0);
    sums[place] += size;
    sums[place + 1]++;
    if (time >= late) sums[at + PLACE_OF_LATE + (found === Reach.Reachable ? 1 : 0)]++;
    const followed = reader.blocks.followed(block);
    accessesSince += (followed?.accesses ?? 0) * (followed?.stands ?? 0);
    if (followed !== undefined) pauses.add(context, { time, ...followed });
    if (found === Reach.Reachable && followed?.isIdle === true) sums[at + PLACE_OF_IDLE] += followed.stands;
    if (found === Reach.Indirect && time >= late) settled.add(context, followed);
    if (inside || found !== Reach.Lost) return;
    sums[at + PLACE_OF_BEHIND] += behindBytes[index];
    sums[at + PLACE_OF_BEHIND + 1] += behindBlocks[index];
    sums[at + PLACE_OF_LATE_BEHIND] += behindLate[index];
  });
  accessesAfter += accessesSince;
  const work = reader.blocks.workSeen + accessesSince;
  for (const [context, blocks] of settled.settled(work))
    sums[places.get(context)! * REACH_FIELDS.length + PLACE_OF_SETTLED] = blocks;
  for (const [context, place] of places) {
    const at = place * REACH_FIELDS.length;
    if (pauses.isOver(context, work, accessesAfter))
      sums[at + PLACE_OF_DONE] = sums[at + PLACE_OF_REACH[Reach.Reachable] + 1]!;
  }
  return {
    contexts: Uint32Array.from(places.keys()),
    sums,
    inside,
    accessesAfter: Math.round(accessesAfter),
  };
}

/** What the segments of a module put into its memory, from the first to the last one; undefined: nothing, or nothing that is known. */
export function initialData(
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
