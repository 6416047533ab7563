import { entryOf } from "../../../../../ground/bytes/entries.ts";
import { REACH_FIELDS } from "../../../../../profile/model/run.ts";
import type { LiveBlocks } from "../live-blocks.ts";
import type { LiveTable } from "../live-table.ts";
import type { ShadowReader } from "../read-shadow.ts";
import type { OwnedBlocks } from "./owners.ts";
import {
  PLACE_OF_BEHIND,
  PLACE_OF_DONE,
  PLACE_OF_IDLE,
  PLACE_OF_LATE,
  PLACE_OF_LATE_BEHIND,
  PLACE_OF_REACH,
  PLACE_OF_SETTLED,
  Reach,
} from "./reach-sums.ts";
import type { InstanceRetainers } from "./retainers.ts";

/**
 * Multiple of the longest pause between allocations after which a context counts as done. Of random pauses,
 * one in 150 is that long.
 */
const MANY_PAUSES = 5;
/**
 * Precision of work: looks usually happen when the work has grown by this share, so shorter pauses do not
 * show.
 */
const LOOK = 1 / 64;

interface FollowedBlock {
  readonly startWork: number;
  readonly time: number;
  readonly stands: number;
}

/**
 * Finds the contexts that have stopped allocating, by the program's work between blocks that live at the end.
 *
 * Example: a program builds a tree of 1,000 nodes with 80 units of work each, then searches it 50 times with
 * 20 each. These 1,000 units are more than five pauses of 80, so the tree is finished. Another program makes
 * 100 rounds of 20 blocks, with 1,600 units between rounds. It may do 8,000 units after the last round before
 * it counts as done.
 */
export class AllocationPauses {
  readonly #blocks = new Map<number, FollowedBlock[]>();

  add(context: number, block: FollowedBlock): void {
    const existing = this.#blocks.get(context);
    if (existing === undefined) this.#blocks.set(context, [block]);
    else existing.push(block);
  }

  /**
   * True if a context has stopped allocating.
   *
   * @param work all work of the program
   * @param after work since the last allocation, at least
   */
  isOver(context: number, work: number, after: number): boolean {
    const blocks = [...(this.#blocks.get(context) ?? [])].sort((a, b) => a.time - b.time);
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < 2) return false;
    // Compares pauses between blocks of the context, and pauses between any allocations. The latter are more
    // frequent, and the time of the last one is known.
    const own = longestPause(blocks, ({ stands }) => stands);
    const any = longestPause(blocks, ({ time }, index) => blocks[index + 1]!.time - time);
    // A followed block stands for others; the last of them may have begun just now.
    const sinceOwn = work * (1 - LOOK) - last.startWork;
    return after > MANY_PAUSES * any || sinceOwn > (MANY_PAUSES + last.stands) * own;
  }
}

/**
 * Returns the longest pause per allocation; pauses too short to show count as their mean. `allocations`:
 * number of allocations from one block to the next.
 */
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

interface HeldBlocks {
  blocks: number;
  /** Work of the program when each began, and the number of blocks that each stands for. */
  readonly followed: { startWork: number; stands: number }[];
}

/**
 * Estimates how many late blocks, owned by a block that only the host points to, began in the first half of
 * the program's work. The clock of allocations cannot show this: it stands still while a complete world is
 * simulated.
 */
export class SettledBlocks {
  readonly #contexts = new Map<number, HeldBlocks>();

  add(context: number, followed: { readonly startWork: number; readonly stands: number } | undefined): void {
    const held = entryOf(this.#contexts, context, () => ({ blocks: 0, followed: [] }));
    held.blocks++;
    if (followed !== undefined) held.followed.push(followed);
  }

  /**
   * Returns the estimate by context. A context without followed blocks gets the share of all others. `work`:
   * all work of the program.
   */
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

function earlyPart(blocks: HeldBlocks["followed"], work: number): number | undefined {
  const sum = (held: HeldBlocks["followed"]): number => held.reduce((total, { stands }) => total + stands, 0);
  const total = sum(blocks);
  return total === 0 ? undefined : sum(blocks.filter(({ startWork }) => startWork * 2 < work)) / total;
}

/** Reach of an instance's live blocks, by context. Can be sent between threads. */
export interface InstanceReach {
  contexts: Uint32Array;
  /** A number per field of `REACH_FIELDS` for each context. */
  sums: Float64Array;
  /**
   * True if the program was inside its functions. Their variables may hold pointers, so lost blocks count as
   * possibly lost.
   */
  inside: boolean;
  hostMayHold: boolean;
  /** Accesses to live blocks and static data after the first look that followed the newest allocation. */
  accessesAfter: number;
  retainers?: InstanceRetainers | undefined;
}

/** Sums of the blocks that lost blocks own, by the context of the owners. */
export class OwnedSums {
  readonly #live: LiveTable;
  readonly #sums = new Map<number, OwnedBlocks>();

  constructor(live: LiveTable) {
    this.#live = live;
  }

  add(owner: number, { bytes, blocks, late }: OwnedBlocks): void {
    const sums = entryOf(this.#sums, this.#live.contextOf(owner), () => ({ bytes: 0, blocks: 0, late: 0 }));
    sums.bytes += bytes;
    sums.blocks += blocks;
    sums.late += late;
  }

  [Symbol.iterator](): Iterator<[number, OwnedBlocks]> {
    return this.#sums.entries();
  }
}

export function sumUp(
  live: LiveTable,
  { reach, owned, late }: { reach: Uint8Array; owned: OwnedSums; late: number },
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
    const context = live.contextOf(index);
    const time = live.timeOf(index);
    if (context !== last) {
      sums = sumsOf.get(context) ?? REACH_FIELDS.map(() => 0);
      sumsOf.set(context, sums);
      last = context;
    }
    const blockReach = reach[index] as keyof typeof PLACE_OF_REACH;
    const place = PLACE_OF_REACH[inside && blockReach !== Reach.Reachable ? Reach.Possible : blockReach] ?? 0;
    sums[place]! += live.sizeOf(index);
    sums[place + 1]!++;
    if (time >= late) sums[PLACE_OF_LATE + (blockReach === Reach.Reachable ? 1 : 0)]!++;
    const followed = followedAt(live, index, reader);
    accessesSince += (followed?.accesses ?? 0) * (followed?.stands ?? 0);
    if (followed !== undefined) pauses.add(context, { time, ...followed });
    if (blockReach === Reach.Reachable && followed?.isIdle === true) sums[PLACE_OF_IDLE]! += followed.stands;
    if (blockReach === Reach.Indirect && time >= late) settled.add(context, followed);
  }
  if (!inside)
    for (const [context, { bytes, blocks, late }] of owned) {
      const sums = sumsOf.get(context)!;
      sums[PLACE_OF_BEHIND] = bytes;
      sums[PLACE_OF_BEHIND + 1] = blocks;
      sums[PLACE_OF_LATE_BEHIND] = late;
    }
  const work = reader.blocks.workSeen + accessesSince;
  accessesAfter += accessesSince;
  // Allocations since the last look came after up to this part of the work, else one of them had been a look.
  if (reader.allocatedSinceLook) accessesAfter = Math.max(0, accessesAfter - work * LOOK);
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
  live: LiveTable,
  index: number,
  { blocks }: ShadowReader,
): ReturnType<LiveBlocks["followed"]> {
  const followed = live.followedOf(index);
  if (followed === 0) return undefined;
  const [address, size] = [live.startOf(index), live.sizeOf(index)];
  return blocks.followed({ address, size, followed, folded: live.foldedOf(index) });
}
