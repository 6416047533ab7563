import { REACH_FIELDS } from "../../../../../profile/model/reach-fields.ts";
import type { RunReach } from "../../../../../profile/model/run.ts";
import { Reach } from "./classify-blocks.ts";

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
