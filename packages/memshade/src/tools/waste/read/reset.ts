import {
  Control,
  OBJECT_SITE_BYTES,
  PAIR_BYTES,
  PATH_BLOCKS_BYTES,
  RECORD_BYTES,
  Store,
  VALUES_BYTES,
} from "../layout.ts";
import type { WasteTables } from "./tables.ts";
import { forgetWriters } from "./written-bytes.ts";

/** Sets all counts to zero; bytes that are unread now belong to nobody. */
export function resetTables(tables: WasteTables): void {
  const { view, description } = tables;
  forgetWriters(tables);
  const bytes = new Uint8Array(view.buffer);
  const clear = (from: number, size: number): void => void bytes.fill(0, from, from + size);
  const clearRecords = (from: number, size: number): void => {
    if (description.engine === "brief") clear(from, size);
    else for (let at = from; at < from + size; at += RECORD_BYTES) clearCounts(bytes, at);
  };
  // Neither stores nor records have ids any more.
  if (description.recordOf !== 0) clear(description.recordOf, (description.lastId + 1) * 4);
  clearRecords(description.stores, description.storeCapacity * 2 ** description.recordShift);
  clearRecords(description.loads, description.loadCapacity * 2 ** description.loadShift);
  bytes.fill(0, description.counters, description.sizes);
  if (description.engine === "full") clear(description.values, description.loadCapacity * VALUES_BYTES);
  clear(description.pairs, description.pairCapacity * PAIR_BYTES);
  clear(description.sites, description.siteCapacity * OBJECT_SITE_BYTES);
  if (description.pathBlocks !== 0) {
    clear(description.pathBlocks, description.pathCapacity * PATH_BLOCKS_BYTES);
    const next = view.getUint32(description.control + Control.fatesNext, true);
    clear(description.fates, Math.max(0, next - description.fates));
    view.setUint32(description.control + Control.fatesNext, 0, true);
  }
}

/** Clears a record of precise mode: it stays the record of its site in its context. */
function clearCounts(bytes: Uint8Array, at: number): void {
  bytes.fill(0, at, at + Store.node).fill(0, at + Store.site + 4, at + RECORD_BYTES);
}
