import type { RunSite } from "../../../../profile/model/run.ts";

/** Without access counts nothing can be said of what was never used. */
export const UNCOUNTED_SITE = {
  neverAccessed: 0,
  neverAccessedBytes: 0,
  writtenNeverRead: 0,
  writtenNeverReadBytes: 0,
  granulesTouched: 0,
  granules: 0,
} as const satisfies Partial<RunSite>;

/** What a report says first. */
export const UNCOUNTED_SENTENCE =
  "Accesses were not counted (--tool alloc): nothing is known of how often, how densely or whether at all blocks were used.";
