import type { RunSite } from "../../../../profile/model/run.ts";

/** Values of a site without access counts, as its use is unknown. */
export const UNCOUNTED_SITE = {
  neverAccessed: 0,
  neverAccessedBytes: 0,
  writtenNeverRead: 0,
  writtenNeverReadBytes: 0,
  granulesTouched: 0,
  granules: 0,
} as const satisfies Partial<RunSite>;
