import { WAITING_BYTES, Waiting } from "../layout.ts";
import type { LocalityLayout } from "../memory-plan.ts";
import { addTo, type Bins } from "./locality-bins.ts";

/** Hashes of lines are below this. */
export const HASH_RANGE = 2 ** 32;

/** What is known of a run's locality so far. */
export interface OpenTables {
  references: number;
  sampled: number;
  cold: number;
  /** Largest hash of lines that are sampled now. */
  limit: number;
  /** Weight of a reference now. */
  weight: number;
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
  let largest: LargestHashes | undefined;
  for (let at = layout.buffer; at < layout.buffer + used; at += WAITING_BYTES) {
    const line = view.getUint32(at, true);
    if (line >= layout.lines || hashOf(line) > tables.limit) continue;
    const site = view.getUint32(at + Waiting.site, true);
    const position = tables.references + clockNow - view.getInt32(at + Waiting.clock, true);
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
      lines = Math.round((place * HASH_RANGE) / (tables.limit + 1));
      const time = position > last ? position - last : lines + 1;
      lines = Math.min(lines, time - 1);
      addTo(tables.times, time, weight);
      addTo(tables.distances, lines, weight);
    }
    if (lines >= layout.cacheLines) counts.misses += weight;
    newest.unshift(entry);
    tables.positions.delete(entry);
    tables.positions.set(entry, position);
    if (last !== undefined || layout.mostLines === 0) continue;
    largest ??= new LargestHashes(newest.slice(1).map((known) => hashOf(sampledIn(known, layout, hashOf))));
    largest.add(hashOf(line));
    if (newest.length > layout.mostLines) dropLargest(largest, newest, layout, hashOf, tables);
  }
}

/** The bound is kept: the line with the largest hash is not followed any more, and what comes then counts for more. */
function dropLargest(
  largest: LargestHashes,
  newest: number[],
  layout: LocalityLayout,
  hashOf: (line: number) => number,
  tables: OpenTables,
): void {
  const hash = largest.take();
  const place = newest.findIndex((entry) => hashOf(sampledIn(entry, layout, hashOf)) === hash);
  const [dropped] = newest.splice(place, 1);
  tables.positions.delete(dropped);
  const before = tables.limit + 1;
  tables.limit = Math.max(hash, 1) - 1;
  tables.weight *= before / (tables.limit + 1);
}

/** Of the lines of an entry, the one that is sampled at the start. */
function sampledIn(entry: number, layout: LocalityLayout, hashOf: (line: number) => number): number {
  let line = entry * 2 ** layout.linesShift;
  while (hashOf(line) > layout.limit) line++;
  return line;
}

/** Hashes of which the largest is taken again and again, and few are added. */
class LargestHashes {
  readonly #known: number[];
  readonly #added: number[] = [];

  constructor(known: number[]) {
    this.#known = known.sort((a, b) => a - b);
  }

  add(hash: number): void {
    let [low, high] = [0, this.#added.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#added[middle] < hash) low = middle + 1;
      else high = middle;
    }
    this.#added.splice(low, 0, hash);
  }

  take(): number {
    const [known, added] = [this.#known.at(-1) ?? -1, this.#added.at(-1) ?? -1];
    return (known > added ? this.#known.pop() : this.#added.pop()) ?? -1;
  }
}
