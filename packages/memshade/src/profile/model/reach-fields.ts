import type { RunReach } from "./run.ts";

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
