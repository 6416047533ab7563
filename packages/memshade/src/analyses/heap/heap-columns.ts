import type { HeapProfile } from "../../model/heap-profile.ts";
import { knowsField, siteColumn } from "../../model/known-fields.ts";
import type { BlockMeasure } from "../block-measure.ts";
import { draggedBlocks } from "../dragged-blocks.ts";
import { copiedBytes, spareBytes } from "../growth.ts";
import { liveBlocksOf } from "../live-blocks.ts";
import { temporaryBlocks } from "../temporary.ts";
import { neverAccessed, writtenNeverRead } from "../unused-blocks.ts";

/** What adds up over the contexts of a heap profile. */
export interface HeapColumn {
  /** One per context. */
  readonly amounts: ArrayLike<number> | ArrayLike<bigint>;
  /** Of the run, where it counted that: what its contexts lack of it has none. */
  readonly whole?: number | undefined;
  /** There is at least so much. */
  readonly isLowerBound?: boolean | undefined;
}

type Read = (profile: HeapProfile) => HeapColumn | undefined;

/** The one place that computes them: rankings, limits, call trees, the page and exports have their own words for them alone. */
const COLUMNS = {
  bytes: (profile) => ofMib(profile, "totalSize", "allocatedBytes"),
  blocks: (profile) => ofMib(profile, "allocCount", "allocations"),
  accesses: (profile) => ofMib(profile, "totalAccessCount", "heapAccesses"),
  lifetimes: (profile) => ofMib(profile, "totalLifetime"),
  peakBytes: (profile) => ofSite(profile, "peakBytes"),
  peakBlocks: (profile) => ofSite(profile, "peakBlocks"),
  liveBytes: (profile) => ofSite(profile, "liveBytes"),
  liveBlocks: (profile) => ofSite(profile, "liveBlocks"),
  /** Those that lost blocks lead to are lost too. */
  lostBytes: (profile) => lost(profile, "bytes"),
  lostBlocks: (profile) => lost(profile, "blocks"),
  temporaryBlocks: (profile) => ofBlocks(temporaryBlocks(profile), "blocks"),
  neverAccessedBytes: (profile) => ofBlocks(neverAccessed(profile), "bytes"),
  neverReadBytes: (profile) => ofBlocks(writtenNeverRead(profile), "bytes"),
  draggedBytes: (profile) => ofBlocks(draggedBlocks(profile), "bytes"),
  copiedBytes: (profile) => ofAmounts(copiedBytes(profile)),
  spareBytes: (profile) => ofAmounts(spareBytes(profile)),
  readBytes: ({ contexts }) => ofAmounts(contexts.site?.readBytes),
  writtenBytes: ({ contexts }) => ofAmounts(contexts.site?.writtenBytes),
} as const satisfies Record<string, Read>;

export type HeapColumnKey = keyof typeof COLUMNS;

/** Undefined where the profile does not know. */
export function heapColumn(profile: HeapProfile, key: HeapColumnKey): HeapColumn | undefined {
  return COLUMNS[key](profile);
}

function ofMib(
  profile: HeapProfile,
  field: "totalSize" | "allocCount" | "totalAccessCount" | "totalLifetime",
  total?: "allocatedBytes" | "allocations" | "heapAccesses",
): HeapColumn | undefined {
  if (!knowsField(profile, field)) return undefined;
  return { amounts: profile.contexts.mibs[field], whole: total && profile.description.totals?.[total] };
}

function ofSite(
  profile: HeapProfile,
  field: "peakBytes" | "peakBlocks" | "liveBytes" | "liveBlocks",
): HeapColumn | undefined {
  const amounts = siteColumn(profile, field);
  return amounts && { amounts, whole: profile.description.totals?.[field] };
}

function lost(profile: HeapProfile, what: "bytes" | "blocks"): HeapColumn | undefined {
  const [definite, indirect] = [liveBlocksOf(profile, "definite"), liveBlocksOf(profile, "indirect")];
  return definite && indirect && { amounts: definite[what].map((of, row) => of + indirect[what][row]!) };
}

function ofBlocks(measure: BlockMeasure | undefined, what: "bytes" | "blocks"): HeapColumn | undefined {
  return measure && { amounts: measure[what], isLowerBound: measure.isLowerBound };
}

function ofAmounts(amounts: Float64Array | undefined): HeapColumn | undefined {
  return amounts && { amounts };
}
