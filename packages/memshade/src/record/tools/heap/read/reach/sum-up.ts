import { REACH_FIELDS } from "../../../../../profile/model/reach-fields.ts";
import type { LiveBlocks } from "../live-blocks.ts";
import type { LiveColumns } from "../live-columns.ts";
import type { ShadowReader } from "../read-shadow.ts";
import { type Classified, Reach } from "./classify-blocks.ts";
import {
  PLACE_OF_BEHIND,
  PLACE_OF_DONE,
  PLACE_OF_IDLE,
  PLACE_OF_LATE,
  PLACE_OF_LATE_BEHIND,
  PLACE_OF_REACH,
  PLACE_OF_SETTLED,
} from "./reach-sums.ts";

/** So many times the longest pause between allocations, and a context allocates no more: of pauses that chance makes, one in 150 is as long. */
const MANY_PAUSES = 5;
/** Work is known when followed blocks are looked at, which is when it has grown by so much as a rule: no shorter pause shows. */
const LOOK = 1 / 64;

/** A followed block that lives at the end. */
interface FollowedBlock {
  /** The program's work that was known when it began. */
  readonly startWork: number;
  /** Number of its allocation among all. */
  readonly time: number;
  readonly stands: number;
}

/**
 * Tells contexts that go on allocating from those that have stopped, by the work of the program between blocks that live at the end.
 *
 * A program builds a tree of 1,000 nodes with 80 units of work for each, and then asks it 50 times, with 20 each: these 1,000 are more than
 * five pauses of 80, so the tree is built. One that keeps what 100 rounds leave, of 20 blocks each, with 1,600 between rounds, may do
 * 8,000 after the last one.
 */
export class AllocationPauses {
  readonly #blocks = new Map<number, FollowedBlock[]>();

  add(context: number, block: FollowedBlock): void {
    const known = this.#blocks.get(context);
    if (known === undefined) this.#blocks.set(context, [block]);
    else known.push(block);
  }

  /**
   * Whether a context has stopped to allocate.
   *
   * @param work all of the program
   * @param after since anything was allocated, at least
   */
  isOver(context: number, work: number, after: number): boolean {
    const blocks = [...(this.#blocks.get(context) ?? [])].sort((a, b) => a.time - b.time);
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < 2) return false;
    // Between blocks of its own, and between any: there are more of those, and it is known when the last one was.
    const own = longestPause(blocks, ({ stands }) => stands);
    const any = longestPause(blocks, ({ time }, index) => blocks[index + 1]!.time - time);
    const sinceOwn = work * (1 - LOOK) - last.startWork;
    return after > MANY_PAUSES * any || sinceOwn > MANY_PAUSES * own;
  }
}

/** The mean of all, or more where a pause shows. `allocations`: how many there were from one block to another. */
function longestPause(
  blocks: readonly FollowedBlock[],
  allocations: (from: FollowedBlock, index: number) => number,
): number {
  let longest = 0;
  let from = blocks[0]!;
  let fromIndex = 0;
  for (const [index, block] of blocks.entries()) {
    const pause = block.startWork - from.startWork;
    if (pause <= from.startWork * LOOK) continue;
    let between = 0;
    for (let at = fromIndex; at < index; at++) between += allocations(blocks[at]!, at);
    longest = Math.max(longest, pause / Math.max(1, between));
    [from, fromIndex] = [block, index];
  }
  return longest;
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

/** Sums by context of what was found of live blocks. */
export function sumUp(
  live: LiveColumns,
  { reach, behindBytes, behindBlocks, behindLate, late }: Classified & { late: number },
  reader: ShadowReader,
  inside: boolean,
): Omit<InstanceReach, "hostMayHold"> {
  let accessesAfter = reader.accessesAfterAllocations();
  const sumsOf = new Map<number, number[]>();
  const pauses = new AllocationPauses();
  const settled = new SettledBlocks();
  let accessesSince = 0;
  let last = -1;
  let sums: number[] = [];
  for (let index = 0; index < live.length; index++) {
    const context = live.contexts[index];
    const [size, time] = [live.sizes[index], live.times[index]];
    if (context !== last) {
      sums = sumsOf.get(context) ?? REACH_FIELDS.map(() => 0);
      sumsOf.set(context, sums);
      last = context;
    }
    const found = reach[index] as keyof typeof PLACE_OF_REACH;
    const place = PLACE_OF_REACH[inside && found !== Reach.Reachable ? Reach.Possible : found] ?? 0;
    sums[place]! += size;
    sums[place + 1]!++;
    if (time >= late) sums[PLACE_OF_LATE + (found === Reach.Reachable ? 1 : 0)]!++;
    const followed = followedAt(live, index, reader);
    accessesSince += (followed?.accesses ?? 0) * (followed?.stands ?? 0);
    if (followed !== undefined) pauses.add(context, { time, ...followed });
    if (found === Reach.Reachable && followed?.isIdle === true) sums[PLACE_OF_IDLE]! += followed.stands;
    if (found === Reach.Indirect && time >= late) settled.add(context, followed);
    if (inside || found !== Reach.Lost) continue;
    sums[PLACE_OF_BEHIND]! += behindBytes[index];
    sums[PLACE_OF_BEHIND + 1]! += behindBlocks[index];
    sums[PLACE_OF_LATE_BEHIND]! += behindLate[index];
  }
  accessesAfter += accessesSince;
  const work = reader.blocks.workSeen + accessesSince;
  for (const [context, blocks] of settled.settled(work)) sumsOf.get(context)![PLACE_OF_SETTLED] = blocks;
  for (const [context, sums] of sumsOf)
    if (pauses.isOver(context, work, accessesAfter))
      sums[PLACE_OF_DONE] = sums[PLACE_OF_REACH[Reach.Reachable] + 1]!;
  return {
    contexts: Uint32Array.from(sumsOf.keys()),
    sums: Float64Array.from([...sumsOf.values()].flat()),
    inside,
    accessesAfter: Math.round(accessesAfter),
  };
}

function followedAt(
  live: LiveColumns,
  index: number,
  { blocks }: ShadowReader,
): ReturnType<LiveBlocks["followed"]> {
  const followed = live.followed[index];
  if (followed === 0) return undefined;
  const [address, size] = [live.starts[index], live.sizes[index]];
  return blocks.followed({ address, size, followed, folded: live.folded.get(index) ?? 0 });
}
