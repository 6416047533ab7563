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
