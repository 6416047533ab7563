import { WAITING_BYTES, Waiting } from "../layout.ts";
import { HASH_RANGE, type LocalityLayout } from "../memory-plan.ts";
import { addTo, type Bins } from "./locality-bins.ts";

/** What is known of a run's locality so far. */
export interface OpenTables {
  references: number;
  sampled: number;
  cold: number;
  distances: Bins;
  times: Bins;
  firsts: Bins;
  sites: Map<number, { references: number; misses: number; cold: number }>;
  /** Position of the last reference per entry, the longest ago first. */
  positions: Map<number, number>;
}

/** References that wait for the next poll, in `used` bytes, taken as the runtime will take them. */
export function followBuffered(
  view: DataView,
  layout: LocalityLayout,
  used: number,
  tables: OpenTables,
): void {
  const clockNow = view.getInt32(layout.clock, true);
  const newest = [...tables.positions.keys()].reverse();
  const hashOf = (line: number): number => Math.imul(line, layout.multiplier) >>> 0;
  for (let at = layout.buffer; at < layout.buffer + used; at += WAITING_BYTES) {
    const line = view.getUint32(at, true);
    if (line >= layout.lines || hashOf(line) > layout.limit) continue;
    const site = view.getUint32(at + Waiting.site, true);
    const position = tables.references + clockNow - view.getInt32(at + Waiting.clock, true);
    const entry = Math.floor(line / 2 ** layout.linesShift);
    const last = tables.positions.get(entry);
    const counts = tables.sites.get(site) ?? { references: 0, misses: 0, cold: 0 };
    tables.sites.set(site, counts);
    tables.sampled++;
    counts.references++;
    let lines = Number.POSITIVE_INFINITY;
    if (last === undefined) {
      tables.cold++;
      counts.cold++;
      addTo(tables.firsts, position);
    } else {
      const place = newest.indexOf(entry);
      newest.splice(place, 1);
      lines = Math.round((place * HASH_RANGE) / (layout.limit + 1));
      const time = position > last ? position - last : lines + 1;
      lines = Math.min(lines, time - 1);
      addTo(tables.times, time);
      addTo(tables.distances, lines);
    }
    if (lines >= layout.cacheLines) counts.misses++;
    newest.unshift(entry);
    tables.positions.delete(entry);
    tables.positions.set(entry, position);
  }
}
