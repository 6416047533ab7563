import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { LocalityRecord, LocalitySite } from "../../../../profile/model/working-set/working-set.ts";
import type { ModuleFunctions } from "../../module-functions.ts";
import type { LinesOf } from "../../session.ts";
import { innermostMembers } from "../../source-places.ts";
import {
  BIN_BYTES,
  ENTRY_BYTES,
  Entry,
  FINE_BITS,
  FRONT_LINES,
  IN_FRONT,
  NO_SITE,
  SINGLE_BITS,
  SITE_BYTES,
  Site,
  State,
  WAITING_BYTES,
  Waiting,
} from "./layout.ts";
import { HASH_RANGE, HISTOGRAM_BINS, type LocalityLayout } from "./memory-plan.ts";

/** Each value below has a bin of its own. */
const SINGLE_BINS = 2 ** SINGLE_BITS;

/** Mean value and weight of each bin, smallest value first. */
type Weighted = [value: number, weight: number][];

/** Weights and sums of values by bin. Bins of one value may lack the sum. */
type Bins = Map<number, { weight: number; sum: number }>;

/** Reads the histogram at an address. */
function readBins(view: DataView, at: number): Bins {
  const bins: Bins = new Map();
  for (let bin = 0; bin < HISTOGRAM_BINS; bin++) {
    const weight = view.getFloat64(at + bin * BIN_BYTES, true);
    if (weight !== 0) bins.set(bin, { weight, sum: view.getFloat64(at + bin * BIN_BYTES + 8, true) });
  }
  return bins;
}

function addTo(bins: Bins, value: number): void {
  const number = binOf(value);
  const bin = bins.get(number) ?? { weight: 0, sum: 0 };
  bin.weight++;
  bin.sum += value;
  bins.set(number, bin);
}

function weighted(bins: Bins): Weighted {
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([bin, { weight, sum }]): [number, number] => [bin < SINGLE_BINS ? bin : sum / weight, weight]);
}

function binOf(value: number): number {
  if (value < SINGLE_BINS) return value;
  const high = Math.floor(Math.log2(value));
  const exact = 2 ** high > value ? high - 1 : 2 ** (high + 1) <= value ? high + 1 : high;
  return (
    SINGLE_BINS + (exact - SINGLE_BITS - 1) * 2 ** FINE_BITS + Math.floor(value / 2 ** (exact - FINE_BITS))
  );
}

interface LocalitySiteCount {
  /** Offset of the instruction in the original code section's payload; undefined for bulk instructions. */
  offset: number | undefined;
  references: number;
  misses: number;
  cold: number;
}

/** Contents of the locality tables of one instance. */
export interface LocalityTables {
  references: number;
  sampled: number;
  rate: number;
  cold: number;
  distances: Weighted;
  times: Weighted;
  firsts: Weighted;
  lasts: Weighted;
  sites: LocalitySiteCount[];
  /** Number of renumberings of the stamps. */
  renumbered: number;
}

/** Reads the tables of `--locality`. Changes nothing. `accesses`: count of the working set's clock. */
export function readLocality(
  memory: WebAssembly.Memory,
  layout: LocalityLayout,
  accesses: number,
): LocalityTables {
  const view = new DataView(memory.buffer);
  const state = layout.state;
  const counted = Number(view.getBigUint64(state + State.references, true));
  const tables: OpenTables = {
    references: accesses + counted,
    sampled: view.getFloat64(state + State.sampled, true),
    cold: view.getFloat64(state + State.cold, true),
    distances: readBins(view, layout.distances),
    times: readBins(view, layout.times),
    firsts: readBins(view, layout.firsts),
    sites: readSites(view, layout),
    positions: readPositions(view, layout),
  };
  const lasts: Bins = new Map();
  followBuffered(view, layout, view.getUint32(state + State.buffered, true), tables);
  for (const position of tables.positions.values())
    addTo(lasts, Math.max(1, tables.references + 1 - position));
  const { references } = tables;
  return {
    references,
    sampled: tables.sampled,
    rate: (layout.limit + 1) / HASH_RANGE,
    cold: tables.cold,
    distances: weighted(tables.distances),
    times: weighted(tables.times),
    firsts: weighted(tables.firsts),
    lasts: weighted(lasts),
    sites: sitesOf(tables.sites),
    renumbered: view.getUint32(state + State.renumbered, true),
  };
}

/** Yields the entries of referenced lines. An array of them would take more memory than the tables. */
function* usedEntries(view: DataView, layout: LocalityLayout): Generator<number, void, undefined> {
  const high = view.getUint32(layout.state + State.high, true);
  for (let entry = 0; entry < high; entry++)
    if (view.getUint32(layout.entries + entry * ENTRY_BYTES, true) !== 0) yield entry;
}

function positionOf(view: DataView, layout: LocalityLayout, entry: number): number {
  return Number(view.getBigUint64(layout.entries + entry * ENTRY_BYTES + Entry.position, true));
}

/** Returns the positions of last references by entry, oldest first. */
function readPositions(view: DataView, layout: LocalityLayout): Map<number, number> {
  const stamped: [stamp: number, entry: number][] = [];
  for (const entry of usedEntries(view, layout)) {
    const stamp = view.getUint32(layout.entries + entry * ENTRY_BYTES, true);
    if (stamp !== IN_FRONT) stamped.push([stamp, entry]);
  }
  const order = stamped.sort(([a], [b]) => a - b).map(([, entry]) => entry);
  for (let place = FRONT_LINES - 1; place >= 0; place--) {
    const at = view.getUint32(layout.state + State.front + 4 * place, true);
    if (at !== 0) order.push((at - layout.entries) / ENTRY_BYTES);
  }
  return new Map(order.map((entry) => [entry, positionOf(view, layout, entry)]));
}

function readSites(view: DataView, layout: LocalityLayout): OpenTables["sites"] {
  const sites: OpenTables["sites"] = new Map();
  let left = view.getUint32(layout.state + State.sites, true);
  for (
    let at = layout.sites;
    left > 0 && at < layout.sites + layout.siteCapacity * SITE_BYTES;
    at += SITE_BYTES
  ) {
    const key = view.getUint32(at, true);
    if (key === 0) continue;
    left--;
    const [references, misses, cold] = [Site.references, Site.misses, Site.cold].map((field) =>
      view.getFloat64(at + field, true),
    );
    sites.set(key - 1, { references, misses, cold });
  }
  return sites;
}

function sitesOf(sites: OpenTables["sites"]): LocalitySiteCount[] {
  return [...sites]
    .map(([site, counts]) => ({ offset: site === NO_SITE ? undefined : site, ...counts }))
    .sort(
      (a, b) => b.misses - a.misses || b.references - a.references || (a.offset ?? -1) - (b.offset ?? -1),
    );
}

/** Counts of a run's locality so far. */
interface OpenTables {
  references: number;
  sampled: number;
  cold: number;
  distances: Bins;
  times: Bins;
  firsts: Bins;
  sites: Map<number, { references: number; misses: number; cold: number }>;
  /** Position of the last reference per entry, oldest first. */
  positions: Map<number, number>;
}

/** Follows the references that wait for the next poll, in `used` bytes, as the runtime would. */
function followBuffered(view: DataView, layout: LocalityLayout, used: number, tables: OpenTables): void {
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
    const counts = entryOf(tables.sites, site, () => ({ references: 0, misses: 0, cold: 0 }));
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

/** Largest number of listed instructions. Those with most misses are listed. */
const MOST_SITES = 256;

/** Returns the record of one instance's locality for the run's file. */
export function describeLocality(
  layout: LocalityLayout,
  tables: LocalityTables,
  functions: () => ModuleFunctions,
  linesOf: ReturnType<LinesOf>,
): LocalityRecord {
  const { references, sampled, rate, cold, distances, times, firsts, lasts, sites } = tables;
  const listed = sites.slice(0, MOST_SITES);
  const others = sites.slice(MOST_SITES);
  const offsets = listed.flatMap(({ offset }) => offset ?? []);
  const containing = offsets.length === 0 ? [] : functions().containing(offsets);
  const describeSite = ({ offset, ...counts }: (typeof sites)[number]): LocalitySite => {
    if (offset === undefined) return counts;
    const within = containing.find(({ offset: from, end }) => offset >= from && offset < end);
    const place = linesOf?.(offset);
    const name = within?.name ?? place?.function;
    const { file, line, ...more } = innermostMembers(place);
    return {
      frame: { function: within?.index ?? 0, offset, ...(name === undefined ? {} : { name }), ...more },
      ...(file === undefined ? {} : { file, line }),
      ...counts,
    };
  };
  return {
    method: "shards",
    references,
    sampled,
    rate,
    cold,
    distances,
    times,
    firsts,
    lasts,
    sites: listed.map(describeSite),
    otherSites: { sites: others.length, misses: others.reduce((sum, { misses }) => sum + misses, 0) },
    sitesAtLines: layout.cacheLines,
  };
}
