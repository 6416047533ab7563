/**
 * Memory accesses that a `malloc` and its `free` make, about: dlmalloc makes 30 to 60 of them, and what else it executes takes as long
 * again.
 */
export const ACCESSES_PER_BLOCK = 50;

/** Fewer units of the clock after the last access say nothing: a program makes some allocations whenever it prints a line. */
export const LEAST_LATE_DRAG = 4;

/**
 * How long blocks were kept after they were used last, of one context. Times are in units of the profile's clock. What a block is for:
 *
 *     allocated          first access           last access                freed
 *         ├───────────────────┴── … ──────────────────┤░░░░░░░ drag ░░░░░░░░░░│
 *         ├─────────────────────────── life ──────────────────────────────────┤
 *
 * A last access is known by the first look at the block that finds its counters as they stay until it ends, so drag is a lower
 * bound. Blocks that were never accessed have none, and neither have those that a reallocation ended: it used them.
 */
export interface BlockDrag {
  /** Blocks that were followed to their last access: all, or where there are very many some that stand for all. */
  followed: number;
  /** How many blocks they stand for, and their sizes. */
  blocks: number;
  bytes: number;
  /** Their sizes times their lives, summed up. */
  byteTime: number;
  /** Sizes times drag. */
  draggedByteTime: number;
  /**
   * Blocks that spent most of their life after their last access, by the clock and by the work that the program did meanwhile. The rest
   * is about these.
   */
  lateBlocks: number;
  lateBytes: number;
  lateByteTime: number;
  /** Sizes times what there was of their lives until the last access. */
  lateUsedByteTime: number;
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
  lateBlocks: 0,
  lateBytes: 0,
  lateByteTime: 0,
  lateUsedByteTime: 0,
  lateLastUse: 0,
  lateFollowed: 0,
};

export function addDrag(one: BlockDrag, other: BlockDrag): BlockDrag {
  return {
    followed: one.followed + other.followed,
    blocks: one.blocks + other.blocks,
    bytes: one.bytes + other.bytes,
    byteTime: one.byteTime + other.byteTime,
    draggedByteTime: one.draggedByteTime + other.draggedByteTime,
    lateBlocks: one.lateBlocks + other.lateBlocks,
    lateBytes: one.lateBytes + other.lateBytes,
    lateByteTime: one.lateByteTime + other.lateByteTime,
    lateUsedByteTime: one.lateUsedByteTime + other.lateUsedByteTime,
    lateLastUse: one.lateLastUse + other.lateLastUse,
    lateFollowed: one.lateFollowed + other.lateFollowed,
  };
}

/** Work of the program during a block's life: accesses, and allocations as so many as those make. */
export interface WorkMeanwhile {
  /** At most. */
  all: number;
  /** At least, after the block's last access. */
  after: number;
}

/** Whether a block was kept so long after its last access that this counts: the clock stands still while a program computes. */
function isLate(life: number, drag: number, work: WorkMeanwhile): boolean {
  return drag >= LEAST_LATE_DRAG && drag * 2 >= life && work.after * 2 >= work.all;
}

/** What one block adds that stands for `weight` blocks. `lastUse`, `end`: the clock. */
export function dragOf(
  block: { size: number; start: number; lastUse: number; end: number; work: WorkMeanwhile },
  weight: number,
): BlockDrag {
  const { size, start, lastUse, end, work } = block;
  const bytes = size * weight;
  const life = end - start;
  const drag = end - lastUse;
  const late = isLate(life, drag, work) ? 1 : 0;
  return {
    followed: 1,
    blocks: weight,
    bytes,
    byteTime: bytes * life,
    draggedByteTime: bytes * drag,
    lateBlocks: late * weight,
    lateBytes: late * bytes,
    lateByteTime: late * bytes * life,
    lateUsedByteTime: late * bytes * (life - drag),
    lateLastUse: late * bytes * lastUse,
    lateFollowed: late,
  };
}
