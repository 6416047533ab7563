import type { RunReach } from "./run.ts";

/** Fields of `RunReach`: bytes and blocks of each kind of live blocks, and further counts. */
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
