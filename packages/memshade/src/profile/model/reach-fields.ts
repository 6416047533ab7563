import type { RunReach } from "./run.ts";

/** The fields of `RunReach`: for each kind of live blocks its bytes and blocks, and what else is told of them. */
export const REACH_FIELDS = [
  "lostBytes",
  "lostBlocks",
  "indirectlyLostBytes",
  "indirectlyLostBlocks",
  "possiblyLostBytes",
  "possiblyLostBlocks",
  "stillReachableBytes",
  "stillReachableBlocks",
  "behindLostBytes",
  "behindLostBlocks",
  "lateLostBlocks",
  "lateReachableBlocks",
  "idleReachableBlocks",
  "doneReachableBlocks",
  "settledLostBlocks",
  "lateBehindBlocks",
] as const satisfies readonly (keyof RunReach)[];
