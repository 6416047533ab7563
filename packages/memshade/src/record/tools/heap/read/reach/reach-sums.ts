import { REACH_FIELDS, type RunReach } from "../../../../../profile/model/run.ts";

/** Ways in which a program can reach a live block. `None` is a block that is not classified yet. */
export const Reach = { None: 0, Reachable: 1, Possible: 2, Lost: 3, Indirect: 4 } as const;

export type ReachSums = Record<keyof RunReach, number>;

export const NO_REACH: Readonly<ReachSums> = Object.fromEntries(
  REACH_FIELDS.map((field) => [field, 0]),
) as ReachSums;

/** Index of the bytes of each `Reach` in `REACH_FIELDS`; the blocks follow them. */
export const PLACE_OF_REACH = {
  [Reach.Lost]: 0,
  [Reach.Indirect]: 2,
  [Reach.Possible]: 4,
  [Reach.Reachable]: 6,
} as const;
export const PLACE_OF_BEHIND = 8;
/** Index of late lost blocks; late reachable ones follow. */
export const PLACE_OF_LATE = 10;
export const PLACE_OF_IDLE = 12;
export const PLACE_OF_DONE = 13;
/** Index of late indirectly lost blocks. */
export const PLACE_OF_SETTLED = 14;
/** Index of late blocks that lost blocks own. */
export const PLACE_OF_LATE_BEHIND = 15;
