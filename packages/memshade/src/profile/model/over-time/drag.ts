/**
 * Memory accesses that a `malloc` and its `free` make, about: dlmalloc makes 30 to 60 of them, and what else it executes takes as long
 * again.
 */
export const ACCESSES_PER_BLOCK = 50;

/**
 * How long blocks were kept after they were used last, of one context. What a block is for:
 *
 *     allocated          first access           last access                freed
 *         ├───────────────────┴── … ──────────────────┤░░░░░░░ drag ░░░░░░░░░░│
 *         ├─────────────────────────── life ──────────────────────────────────┤
 *
 * A last access is known by the first look at the block that finds its counters as they stay until it ends, so drag is a lower
 * bound. Blocks that were never accessed have none, and neither have those that a reallocation ended: it used them.
 *
 * The clock of allocations stands still while a program computes. So what is long is measured by the program's work: memory accesses,
 * and allocations as so many as those make.
 */
export interface BlockDrag {
  /** Blocks that were followed to their last access: all, or where there are very many some that stand for all. */
  followed: number;
  /** How many blocks they stand for, and their sizes. */
  blocks: number;
  bytes: number;
  /** Their sizes times their lives, in units of the profile's clock, summed up. */
  byteTime: number;
  /** Sizes times drag. */
  draggedByteTime: number;
  /** Their sizes times the work during their lives. */
  byteWork: number;
  /** Blocks with most of the work during their lives after their last access. The rest is about these. */
  lateBlocks: number;
  lateBytes: number;
  lateByteWork: number;
  /** Sizes times the work until the last access. */
  lateUsedByteWork: number;
  /** Sizes times the clock at the last access. */
  lateLastUse: number;
  /** How many of the blocks that were followed are such; fewer than `lateBlocks`: that is an estimate. */
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

export function addDrag(one: BlockDrag, other: BlockDrag): BlockDrag {
  return Object.fromEntries(
    Object.entries(one).map(([field, value]) => [field, value + other[field as keyof BlockDrag]]),
  ) as unknown as BlockDrag;
}

/** Work of the program during a block's life. */
export interface WorkMeanwhile {
  /** At most. */
  all: number;
  /** At least, after the block's last access. */
  after: number;
}

/** Whether a block was kept so long after its last access that this counts. */
export function isLate({ all, after }: WorkMeanwhile): boolean {
  return after > 0 && after * 2 >= all;
}

/** What one block adds that stands for `weight` blocks. `lastUse`, `end`: the clock. */
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
