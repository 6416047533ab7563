import { FLAG_SAMPLE_ID_ALL } from "./layout.ts";
import type { PerfEvent } from "./types.ts";

/** Size of `perf_event_attr` up to `config`: what every version has, and what is needed at all. */
export const MINIMUM_ATTR_BYTES = 64;

/** Hardware and software events by `type` and `config`, for files that do not name their events. */
const EVENT_NAMES: readonly (readonly string[])[] = [
  ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"],
  ["cpu-clock", "task-clock", "page-faults", "context-switches"],
];

/** Reads a `perf_event_attr`; fields behind its own size count as 0. */
export function readAttribute(view: DataView, ids: readonly string[], name?: string): PerfEvent {
  const size = Math.min(view.byteLength, view.getUint32(4, true) || MINIMUM_ATTR_BYTES);
  const u32 = (at: number) => (at + 4 <= size ? view.getUint32(at, true) : 0);
  const numbered = EVENT_NAMES[u32(0)]?.[u32(8)];
  return {
    name: name ?? numbered ?? "event",
    sampleType: u32(24),
    readFormat: u32(32),
    hasSampleIds: (u32(40) & FLAG_SAMPLE_ID_ALL) !== 0,
    branchSampleType: u32(72),
    userRegisters: [u32(80), u32(84)],
    ids,
  };
}
