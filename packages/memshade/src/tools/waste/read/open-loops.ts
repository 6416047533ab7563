import { LOOP_BYTES, LOOP_STREAM_BYTES, Loop } from "../layout.ts";
import type { SiteTable } from "../site-table.ts";
import type { WasteTables } from "./tables.ts";

/** A loop of which runs have begun and not ended: what its accesses did in them is not counted. */
export interface OpenLoop {
  /** Code offsets of its accesses. */
  path: number[];
  runs: number;
}

/** The loops that something has cut short, or that are running now. */
export function readOpenLoops({ view, description }: WasteTables, sites: SiteTable): OpenLoop[] {
  const loops: OpenLoop[] = [];
  for (let at = description.loops; at < description.loopsEnd; ) {
    const streams = view.getUint32(at + Loop.streams, true);
    const runs = view.getUint32(at + Loop.open, true);
    const first = view.getUint32(at + Loop.site, true);
    if (runs > 0) loops.push({ path: [...sites.offset.subarray(first, first + streams)], runs });
    at += LOOP_BYTES + streams * LOOP_STREAM_BYTES;
  }
  return loops;
}
