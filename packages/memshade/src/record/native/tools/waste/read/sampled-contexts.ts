import {
  SAMPLED,
  SAMPLED_BLOCK_SLOTS,
  Sampled,
  SampledBlock,
  SampledHead,
  SLOT_BYTES,
  STORE_SLOTS,
} from "../layout.ts";
import type { CountsFile, StoreFate } from "./counts-file.ts";

export interface SampledContext {
  /** Node of the calling context tree whose own site is in the block, or a caller's site. */
  context: number;
  firstId: number;
  samples: number;
  runs: number;
  /**
   * Per store: silent stores, or bytes of a string instruction. `loads`: the words of each load and string instruction.
   */
  stores: number[];
  loads: number[];
}

export interface StoreSums extends StoreFate {
  runs: number;
  written: number;
  silentBytes: number;
  silent: number;
}

/** Reads all sampled contexts, by address of their block's slot. */
export function readSampled(counts: CountsFile): Map<number, SampledContext[]> {
  const head = new DataView(counts.bytes(SAMPLED, SAMPLED + SampledHead.table).buffer);
  const end = head.getUint32(SampledHead.next, true);
  const byBlock = new Map<number, SampledContext[]>();
  if (end === 0) return byBlock;
  const view = new DataView(counts.bytes(SAMPLED, SAMPLED + end).buffer);
  const long = (at: number): number => Number(view.getBigInt64(at, true));
  let at = firstPlace(view);
  while (at !== 0 && at < end) {
    const [stores, loads] = [
      view.getUint16(at + Sampled.stores, true),
      view.getUint16(at + Sampled.loads, true),
    ];
    const block = view.getUint32(at + Sampled.block, true);
    const slots = currentCounts(counts, block, SAMPLED + at, stores, loads);
    const sums = Array.from({ length: stores + loads }, (_, i) =>
      Math.max(0, long(at + Sampled.counts + 8 * i) + (slots?.[i] ?? 0)),
    );
    const contexts = byBlock.get(block) ?? [];
    if (contexts.length === 0) byBlock.set(block, contexts);
    contexts.push({
      context: view.getUint32(at + Sampled.context, true),
      firstId: view.getUint32(at + Sampled.firstId, true),
      samples: long(at + Sampled.samples),
      runs: long(at + Sampled.runs),
      stores: sums.slice(0, stores),
      loads: sums.slice(stores),
    });
    at += Sampled.counts + 8 * (stores + loads);
  }
  return byBlock;
}

export function refusedSamples(counts: CountsFile): number {
  return Number(
    new DataView(counts.bytes(SAMPLED, SAMPLED + SampledHead.table).buffer).getBigInt64(
      SampledHead.refused,
      true,
    ),
  );
}

/** Returns the offset of the first record. Records follow the hash table without gaps. */
function firstPlace(view: DataView): number {
  let first = 0;
  for (
    let at: number = SampledHead.table;
    at + 4 <= view.byteLength && (first === 0 || at < first);
    at += 4
  ) {
    const place = view.getUint32(at, true);
    if (place !== 0 && (first === 0 || place < first)) first = place;
  }
  return first;
}

/** Returns the current counts of a block whose sample had not ended when the process did. */
function currentCounts(
  counts: CountsFile,
  block: number,
  record: number,
  stores: number,
  loads: number,
): number[] | undefined {
  const words = SAMPLED_BLOCK_SLOTS + STORE_SLOTS * stores + loads;
  const slots = counts.slots(block, block + SLOT_BYTES * words);
  if (Number(slots[SampledBlock.current / SLOT_BYTES]) !== record) return undefined;
  const from = SAMPLED_BLOCK_SLOTS;
  return [
    ...Array.from({ length: stores }, (_, i) => Number(slots[from + STORE_SLOTS * i + 1])),
    ...Array.from({ length: loads }, (_, i) => Number(slots[from + STORE_SLOTS * stores + i])),
  ];
}

/**
 * Distributes the totals of an access over the contexts of its block. The weight of a context is its mean per sampled
 * run, times the runs that its samples represent. The parts of a figure add up to its total. Parts of a context without
 * runs are 0.
 *
 * @param most returns the limit of a figure in a context, given the context's earlier figures
 */
export function spread<T extends Record<string, number> & { runs: number }>(
  totals: T,
  contexts: readonly SampledContext[],
  sampled: readonly T[],
  most: (name: keyof T, part: T) => number,
): T[] {
  const parts = contexts.map(() => ({ ...totals }));
  const { runs: allRuns, ...figures } = totals;
  const figure = (sums: Record<string, number>, name: keyof T): number => sums[name as string];
  const runs = contexts.map((context) => context.runs);
  shareOut(allRuns, runs, runs).forEach((part, i) => {
    parts[i].runs = part;
  });
  for (const name of Object.keys(figures) as (keyof T)[]) {
    const weights = contexts.map(
      (context, i) => (figure(sampled[i], name) / Math.max(1, context.samples)) * context.runs,
    );
    const limits = parts.map((part) => (part.runs === 0 ? 0 : most(name, part)));
    limit(shareOut(figure(totals, name), weights, runs), limits).forEach((part, i) => {
      (parts[i] as Record<keyof T, number>)[name] = part;
    });
  }
  return parts;
}

/** Splits a number into whole parts by weight. If all weights are 0, runs are the weights. */
function shareOut(total: number, weights: readonly number[], runs: readonly number[]): number[] {
  const effectiveWeights = weights.some((weight) => weight > 0) ? weights : runs;
  const sum = effectiveWeights.reduce((before, weight) => before + weight, 0) || 1;
  let [passed, assigned] = [0, 0];
  return effectiveWeights.map((weight) => {
    passed += weight;
    const until = Math.round((total * passed) / sum);
    const part = until - assigned;
    assigned = until;
    return part;
  });
}

/** Moves any excess over a part's limit to parts below their limits. If none has room, the excess stays in one part. */
function limit(parts: readonly number[], limits: readonly number[]): number[] {
  const limited = parts.map((part, i) => Math.min(part, Math.max(0, limits[i])));
  let excess = parts.reduce((sum, part, i) => sum + part - limited[i], 0);
  for (let i = 0; i < limited.length && excess > 0; i++) {
    const more = Math.min(excess, Math.max(0, limits[i] - limited[i]));
    limited[i] += more;
    excess -= more;
  }
  if (excess > 0)
    limited[
      Math.max(
        0,
        limits.findIndex((bound) => bound > 0),
      )
    ] += excess;
  return limited;
}
