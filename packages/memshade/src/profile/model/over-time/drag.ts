/**
 * Approximate number of memory accesses of a `malloc` and its `free`: dlmalloc makes 30 to 60, and its other
 * instructions take as long again.
 */
export const ACCESSES_PER_BLOCK = 50;

/**
 * Drag of a context's blocks: the time from the last access to a block until it is freed.
 *
 *     allocated          first access           last access                freed
 *         ├───────────────────┴── … ──────────────────┤░░░░░░░ drag ░░░░░░░░░░│
 *         ├─────────────────────────── life ──────────────────────────────────┤
 *
 * The last access is dated by the first observation of the block after which its counters stay unchanged, so drag is a
 * lower bound. Blocks that were never accessed have no drag. Blocks that a reallocation ended have none either, because
 * it used them.
 *
 * The clock of allocations stands still while a program computes. Long drag is therefore measured by the program's
 * work: memory accesses, plus each allocation as the number of accesses that it makes.
 */
export interface BlockDrag {
  /** Blocks that were followed to their last access: all of them, or a sample if there are very many. */
  followed: number;
  /** Number and total size of the blocks that the followed ones represent. */
  blocks: number;
  bytes: number;
  /** Sum of size times life, in units of the profile's clock. */
  byteTime: number;
  /** Sum of size times the time after the last access. */
  draggedByteTime: number;
  /** Sum of size times the work during the life. */
  byteWork: number;
  /**
   * Late blocks: at least half of the work during their lives came after their last access. The members below are
   * about these.
   */
  lateBlocks: number;
  lateBytes: number;
  /** Sum of size times the work during the life. */
  lateByteWork: number;
  /** Sum of size times the work until the last access. */
  lateUsedByteWork: number;
  /** Sum of size times the clock at the last access. */
  lateLastUse: number;
  /** Number of followed blocks that are late; if it is below `lateBlocks`, the figures are estimates. */
  lateFollowed: number;
}

export const NO_DRAG: BlockDrag = {
  followed: 0,
  blocks: 0,
  bytes: 0,
  byteTime: 0,
  draggedByteTime: 0,
  byteWork: 0,
  lateBlocks: 0,
  lateBytes: 0,
  lateByteWork: 0,
  lateUsedByteWork: 0,
  lateLastUse: 0,
  lateFollowed: 0,
};

export function addDrag(a: BlockDrag, b: BlockDrag): BlockDrag {
  if (b === NO_DRAG) return a;
  if (a === NO_DRAG) return b;
  return Object.fromEntries(
    Object.entries(a).map(([field, value]) => [field, value + b[field as keyof BlockDrag]]),
  ) as unknown as BlockDrag;
}

export interface WorkMeanwhile {
  /** Upper bound of the work. */
  all: number;
  /** Lower bound of the work after the block's last access. */
  after: number;
}

/** Returns true if at least half of the work came after the block's last access. */
export function isLate({ all, after }: WorkMeanwhile): boolean {
  return after > 0 && after * 2 >= all;
}

/**
 * Returns the contribution of a block that represents `weight` blocks. `lastUse` and `end` are readings of the clock.
 */
export function dragOf(
  block: { size: number; start: number; lastUse: number; end: number; work: WorkMeanwhile },
  weight: number,
): BlockDrag {
  const { size, start, lastUse, end, work } = block;
  const bytes = size * weight;
  const late = isLate(work) ? 1 : 0;
  return {
    followed: 1,
    blocks: weight,
    bytes,
    byteTime: bytes * (end - start),
    draggedByteTime: bytes * (end - lastUse),
    byteWork: bytes * work.all,
    lateBlocks: late * weight,
    lateBytes: late * bytes,
    lateByteWork: late * bytes * work.all,
    lateUsedByteWork: late * bytes * (work.all - work.after),
    lateLastUse: late * bytes * lastUse,
    lateFollowed: late,
  };
}
