import { REACH_FIELDS } from "../../../../model/reach-fields.ts";
import { isMemory } from "../../../followed-memory.ts";
import { SHADOW_MEMORY } from "../../../host-interface.ts";
import type { InstrumentedInfo } from "../../../options.ts";
import type { LiveBlock } from "../live-blocks.ts";
import { ShadowReader } from "../read-shadow.ts";
import { AllocationPauses } from "./allocation-pauses.ts";
import { BlockList } from "./block-list.ts";
import { classifyBlocks, Reach } from "./classify-blocks.ts";
import { initialData } from "./initial-data.ts";
import {
  PLACE_OF_BEHIND,
  PLACE_OF_DONE,
  PLACE_OF_IDLE,
  PLACE_OF_LATE,
  PLACE_OF_REACH,
  PLACE_OF_SETTLED,
} from "./reach-sums.ts";
import { rootRanges } from "./root-ranges.ts";
import { SettledBlocks } from "./settled-blocks.ts";

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
  const found = classifyBlocks(blocks, {
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
  });
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
  { reach, behindBytes, behindBlocks }: ReturnType<typeof classifyBlocks>,
  reader: ShadowReader,
  inside: boolean,
): Omit<InstanceReach, "hostMayHold"> {
  const { now } = reader;
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
    const isLate = time * 2 > now;
    if (isLate) sums[at + PLACE_OF_LATE + (found === Reach.Reachable ? 1 : 0)]++;
    const followed = reader.blocks.followed(block);
    accessesSince += (followed?.accesses ?? 0) * (followed?.stands ?? 0);
    if (followed !== undefined) pauses.add(context, { time, ...followed });
    if (found === Reach.Reachable && followed?.isIdle === true) sums[at + PLACE_OF_IDLE] += followed.stands;
    if (found === Reach.Indirect && isLate) settled.add(context, followed);
    if (inside || found !== Reach.Lost) return;
    sums[at + PLACE_OF_BEHIND] += behindBytes[index];
    sums[at + PLACE_OF_BEHIND + 1] += behindBlocks[index];
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
