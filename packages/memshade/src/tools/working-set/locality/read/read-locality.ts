import { ENTRY_BYTES, Entry, FRONT_LINES, IN_FRONT, NO_SITE, SITE_BYTES, Site, State } from "../layout.ts";
import { HASH_RANGE, type LocalityLayout } from "../memory-plan.ts";
import { followBuffered, type OpenTables } from "./buffered-references.ts";
import { addTo, type Bins, readBins, type Weighted, weighted } from "./locality-bins.ts";

export interface LocalitySiteCount {
  /** Offset of the instruction in the original code section's payload; undefined for bulk instructions. */
  offset: number | undefined;
  references: number;
  misses: number;
  cold: number;
}

/** What the locality tables of one instance hold. */
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
  /** How often the stamps of the order were renumbered. */
  renumbered: number;
}

/** Reads the tables of `--locality`. Changes nothing. `accesses`: what the working set's clock has counted. */
export function readLocality(
  memory: WebAssembly.Memory,
  layout: LocalityLayout,
  accesses: number,
): LocalityTables {
  const view = new DataView(memory.buffer);
  const state = layout.state;
  const counted = Number(view.getBigUint64(state + State.references, true));
  const tables = {
    references: layout.exact ? counted : accesses + counted,
    sampled: view.getFloat64(state + State.sampled, true),
    cold: view.getFloat64(state + State.cold, true),
    distances: readBins(view, layout.distances),
    times: readBins(view, layout.times),
    firsts: readBins(view, layout.firsts),
    sites: readSites(view, layout),
  };
  const lasts: Bins = new Map();
  if (layout.exact) {
    for (const entry of usedEntries(view, layout))
      addTo(lasts, Math.max(1, tables.references + 1 - positionOf(view, layout, entry)));
  } else {
    const open: OpenTables = Object.assign(tables, { positions: readPositions(view, layout) });
    followBuffered(view, layout, view.getUint32(state + State.buffered, true), open);
    for (const position of open.positions.values())
      addTo(lasts, Math.max(1, tables.references + 1 - position));
  }
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

/** Those of lines that were referenced: without an array of them, which would take more than the tables. */
function* usedEntries(view: DataView, layout: LocalityLayout): Generator<number, void, undefined> {
  const high = view.getUint32(layout.state + State.high, true);
  for (let entry = 0; entry < high; entry++) {
    if (view.getUint32(layout.entries + entry * ENTRY_BYTES, true) !== 0) yield entry;
  }
}

function positionOf(view: DataView, layout: LocalityLayout, entry: number): number {
  return Number(view.getBigUint64(layout.entries + entry * ENTRY_BYTES + Entry.position, true));
}

/** Lines by their last references, the longest ago first. */
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
