import type { LocalityLayout } from "../../../instrument/index.ts";

/** Fields of the state, as `runtime/shadow/assembly/locality/layout.ts` defines them; a test compares the two. */
export const LocalityState = {
  REFERENCES: 0,
  SAMPLED: 8,
  COLD: 16,
  WEIGHT: 24,
  LIMIT: 32,
  LIVE: 36,
  NOW: 40,
  CAPACITY: 44,
  HIGH: 48,
  SITES: 52,
  RENUMBERED: 56,
  BUFFERED: 60,
  FRONT: 64,
} as const;

const BIN_BYTES = 16;
const ENTRY_BYTES = 16;
const BUFFERED_BYTES = 16;
/** Entries in the list of the newest ones, and the stamp that these have. */
const FRONT_LINES = 8;
const IN_FRONT = 0xffffffff;
const SITE_BYTES = 32;
const HASH_RANGE = 2 ** 32;
/** Values below have a bin each; above, each factor of two has 32. */
const SINGLE_BINS = 4096;
const SINGLE_BITS = 12;
const FINE_BITS = 5;
/** What bulk instructions are charged to. */
const NO_SITE = 0xfffffffe;

/** (mean value of a bin, weight), smallest value first. */
export type Weighted = [value: number, weight: number][];

export interface LocalitySiteCount {
  /** Offset of the instruction in the original code section's payload; undefined for bulk instructions. */
  offset: number | undefined;
  references: number;
  misses: number;
  cold: number;
}

/** What the locality tables of one instance hold. Weights are those of the final rate. */
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
  /** How often the order's stamps were given anew. */
  renumbered: number;
}

/** Weights and sums of values by bin; those of bins of one value may lack the sum. */
type Bins = Map<number, { weight: number; sum: number }>;

/** Reads the tables of `--locality`. Changes nothing. `accesses`: what the working set's clock has counted. */
export function readLocality(
  memory: WebAssembly.Memory,
  layout: LocalityLayout,
  accesses: number,
): LocalityTables {
  const view = new DataView(memory.buffer);
  const state = layout.state;
  const counted = Number(view.getBigUint64(state + LocalityState.REFERENCES, true));
  const limit = layout.mostLines > 0 ? view.getUint32(state + LocalityState.LIMIT, true) : layout.limit;
  const tables = {
    references: layout.exact ? counted : accesses + counted,
    sampled: view.getFloat64(state + LocalityState.SAMPLED, true),
    rate: (limit + 1) / HASH_RANGE,
    cold: view.getFloat64(state + LocalityState.COLD, true),
    weight: 1 + view.getFloat64(state + LocalityState.WEIGHT, true),
    distances: readBins(view, layout.distances, layout),
    times: readBins(view, layout.times, layout),
    firsts: readBins(view, layout.firsts, layout),
    sites: readSites(view, layout),
    positions: readPositions(view, layout),
  };
  if (!layout.exact) followBuffered(view, layout, limit, tables);
  const { weight, references } = tables;
  const lasts: Bins = new Map();
  for (const position of tables.positions.values())
    addTo(lasts, Math.max(1, references + 1 - position), weight);
  return {
    references,
    sampled: tables.sampled / weight,
    rate: tables.rate,
    cold: tables.cold / weight,
    distances: weighted(tables.distances, weight),
    times: weighted(tables.times, weight),
    firsts: weighted(tables.firsts, weight),
    lasts: weighted(lasts, weight),
    sites: sitesOf(tables.sites, weight),
    renumbered: view.getUint32(state + LocalityState.RENUMBERED, true),
  };
}

interface OpenTables extends Pick<LocalityTables, "references" | "sampled" | "rate" | "cold"> {
  /** Weight of a reference now. */
  weight: number;
  distances: Bins;
  times: Bins;
  firsts: Bins;
  sites: Map<number, { references: number; misses: number; cold: number }>;
  /** Position of the last reference per entry, the longest ago first. */
  positions: Map<number, number>;
}

/** References that wait for the next poll, taken as the runtime will take them. */
function followBuffered(view: DataView, layout: LocalityLayout, limit: number, tables: OpenTables): void {
  const used = view.getUint32(layout.state + LocalityState.BUFFERED, true);
  const clockNow = view.getInt32(layout.clock, true);
  const newest = [...tables.positions.keys()].reverse();
  for (let at = layout.buffer; at < layout.buffer + used; at += BUFFERED_BYTES) {
    const line = view.getUint32(at, true);
    if (line >= layout.lines || Math.imul(line, layout.multiplier) >>> 0 > limit) continue;
    const site = view.getUint32(at + 4, true);
    const position = tables.references + clockNow - view.getInt32(at + 8, true);
    const entry = Math.floor(line / 2 ** layout.linesShift);
    const { weight } = tables;
    const last = tables.positions.get(entry);
    const counts = tables.sites.get(site) ?? { references: 0, misses: 0, cold: 0 };
    tables.sites.set(site, counts);
    tables.sampled += weight;
    counts.references += weight;
    let lines = Number.POSITIVE_INFINITY;
    if (last === undefined) {
      tables.cold += weight;
      counts.cold += weight;
      addTo(tables.firsts, position, weight);
    } else {
      const place = newest.indexOf(entry);
      newest.splice(place, 1);
      lines = Math.round(place / tables.rate);
      const time = position > last ? position - last : lines + 1;
      lines = Math.min(lines, time - 1);
      addTo(tables.times, time, weight);
      addTo(tables.distances, lines, weight);
    }
    if (lines >= layout.cacheLines) counts.misses += weight;
    newest.unshift(entry);
    tables.positions.delete(entry);
    tables.positions.set(entry, position);
  }
}

function readBins(view: DataView, at: number, layout: LocalityLayout): Bins {
  const bins: Bins = new Map();
  for (let bin = 0; bin * BIN_BYTES < layout.firsts - layout.times; bin++) {
    const weight = view.getFloat64(at + bin * BIN_BYTES, true);
    if (weight !== 0) bins.set(bin, { weight, sum: view.getFloat64(at + bin * BIN_BYTES + 8, true) });
  }
  return bins;
}

function addTo(bins: Bins, value: number, weight: number): void {
  const number = binOf(value);
  const bin = bins.get(number) ?? { weight: 0, sum: 0 };
  bin.weight += weight;
  bin.sum += weight * value;
  bins.set(number, bin);
}

function weighted(bins: Bins, unit: number): Weighted {
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([bin, { weight, sum }]): [number, number] => [
      bin < SINGLE_BINS ? bin : sum / weight,
      weight / unit,
    ]);
}

/** Lines by their last references, the longest ago first. */
function readPositions(view: DataView, layout: LocalityLayout): Map<number, number> {
  const high = view.getUint32(layout.state + LocalityState.HIGH, true);
  const positionOf = (entry: number) =>
    Number(view.getBigUint64(layout.entries + entry * ENTRY_BYTES + 8, true));
  const stamped: [stamp: number, entry: number][] = [];
  for (let entry = 0; entry < high; entry++) {
    const stamp = view.getUint32(layout.entries + entry * ENTRY_BYTES, true);
    if (stamp !== 0 && stamp !== IN_FRONT) stamped.push([stamp, entry]);
  }
  const order = stamped.sort(([a], [b]) => a - b).map(([, entry]) => entry);
  for (let place = FRONT_LINES - 1; place >= 0; place--) {
    const at = view.getUint32(layout.state + LocalityState.FRONT + 4 * place, true);
    if (at !== 0) order.push((at - layout.entries) / ENTRY_BYTES);
  }
  return new Map(order.map((entry) => [entry, positionOf(entry)]));
}

function binOf(value: number): number {
  if (value < SINGLE_BINS) return value;
  const high = Math.floor(Math.log2(value));
  const exact = 2 ** high > value ? high - 1 : 2 ** (high + 1) <= value ? high + 1 : high;
  return SINGLE_BINS + (exact - SINGLE_BITS) * 32 + Math.floor(value / 2 ** (exact - FINE_BITS)) - 32;
}

function readSites(view: DataView, layout: LocalityLayout): OpenTables["sites"] {
  const sites: OpenTables["sites"] = new Map();
  let left = view.getUint32(layout.state + LocalityState.SITES, true);
  for (
    let at = layout.sites;
    left > 0 && at < layout.sites + layout.siteCapacity * SITE_BYTES;
    at += SITE_BYTES
  ) {
    const key = view.getUint32(at, true);
    if (key === 0) continue;
    left--;
    const [references, misses, cold] = [8, 16, 24].map((field) => view.getFloat64(at + field, true));
    sites.set(key - 1, { references, misses, cold });
  }
  return sites;
}

function sitesOf(sites: OpenTables["sites"], unit: number): LocalitySiteCount[] {
  return [...sites]
    .map(([site, { references, misses, cold }]) => ({
      offset: site === NO_SITE ? undefined : site,
      references: references / unit,
      misses: misses / unit,
      cold: cold / unit,
    }))
    .sort(
      (a, b) => b.misses - a.misses || b.references - a.references || (a.offset ?? -1) - (b.offset ?? -1),
    );
}
