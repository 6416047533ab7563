import type { InstrumentedInfo, ShadowLayout } from "../../options.ts";
import { type MemoryRange, withoutUnused } from "../../unused-tables.ts";
import {
  CHANGE_BYTES,
  CONTEXT_BYTES,
  Control,
  DRAG_BYTES,
  FOLLOWED_BYTES,
  GROWTH_BYTES,
  INTERVAL_BYTES,
  NODE_BYTES,
  PAST_BYTES,
  RECORD_BYTES,
} from "../layout.ts";
import { BEYOND_HIGHEST_BLOCK_BYTES } from "./read-shadow.ts";

/** Bytes of the program per byte of counters, and of marks. */
const PER_COUNTER_BYTE = 2;
const PER_MARK_BYTE = 64;

/** Returns the parts of a shadow memory that `ShadowReader` reads. */
export function usedRanges(
  memory: WebAssembly.Memory,
  layout: ShadowLayout,
  { statics }: Pick<InstrumentedInfo, "statics">,
): MemoryRange[] {
  const view = new DataView(memory.buffer, layout.control);
  const control = (field: number): number => view.getUint32(field, true);
  const highest = Math.max(control(Control.highWater) + BEYOND_HIGHEST_BLOCK_BYTES, statics?.end ?? 0);
  const followed = Math.min(highest, layout.coveredBytes);
  /** Returns the unused rest of a table after `count` entries, up to the next table. */
  const behind = (table: number, count: number, bytes: number): MemoryRange => [
    table + count * bytes,
    Math.min(...tables.filter((start) => start > table)),
  ];
  const tables = [
    layout.mibs,
    layout.pasts,
    layout.drags,
    layout.followed,
    layout.intervals,
    layout.changes,
    layout.growths,
    layout.nodes,
    layout.children,
    layout.records,
    layout.hostWord,
    layout.control,
    layout.shapes,
    layout.slots,
    layout.slotsEnd,
    layout.marks,
    layout.directory,
    layout.endBytes,
    ...(layout.histograms === 0 ? [] : [layout.histograms, layout.histogramsEnd]),
    ...(layout.hostEntries === undefined ? [] : [layout.hostEntries]),
  ];
  const contexts = control(Control.mibNext) + 1;
  return withoutUnused(memory.buffer.byteLength, [
    [Math.ceil(followed / PER_COUNTER_BYTE), layout.slots],
    [layout.slots + control(Control.slotsNext), layout.slotsEnd],
    behind(layout.marks, Math.ceil(followed / PER_MARK_BYTE), 1),
    behind(layout.mibs, contexts, CONTEXT_BYTES),
    behind(layout.pasts, contexts, PAST_BYTES),
    behind(layout.drags, contexts, DRAG_BYTES),
    behind(layout.growths, contexts, GROWTH_BYTES),
    behind(layout.followed, control(Control.followed) + 1, FOLLOWED_BYTES),
    behind(layout.intervals, control(Control.intervals) + 1, INTERVAL_BYTES),
    behind(layout.changes, control(Control.changes) + 1, CHANGE_BYTES),
    behind(layout.nodes, control(Control.nodeNext) + 1, NODE_BYTES),
    // The children's table and the stacks are needed by the program only.
    behind(layout.children, 0, 1),
    behind(layout.records, control(Control.recordNext) + 1, RECORD_BYTES),
    ...(layout.histograms === 0 ? [] : [behind(layout.histograms, control(Control.histogramNext), 1)]),
    [layout.hostWord, layout.endBytes],
  ]);
}
