import { REACH_FIELDS } from "../../../../../profile/model/reach-fields.ts";
import type { RunReach } from "../../../../../profile/model/run.ts";
import { Reach } from "./classify-blocks.ts";

/** Sums of one calling context, or of all. */
export type ReachSums = Record<keyof RunReach, number>;

export const NO_REACH: Readonly<ReachSums> = Object.fromEntries(
  REACH_FIELDS.map((field) => [field, 0]),
) as ReachSums;

/** The place of the bytes of each `Reach` in `REACH_FIELDS`; its blocks are behind. */
export const PLACE_OF_REACH = {
  [Reach.Lost]: 0,
  [Reach.Indirect]: 2,
  [Reach.Possible]: 4,
  [Reach.Reachable]: 6,
} as const;
export const PLACE_OF_BEHIND = 8;
/** Of lost blocks; of reachable ones behind. */
export const PLACE_OF_LATE = 10;
export const PLACE_OF_IDLE = 12;
export const PLACE_OF_DONE = 13;
/** Of late indirectly lost ones. */
export const PLACE_OF_SETTLED = 14;
/** Of what is behind lost ones. */
export const PLACE_OF_LATE_BEHIND = 15;
