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

/** A block in a context it was sampled in. */
export interface SampledContext {
  /** Node of the calling context tree, whose own site is in the block. */
  node: number;
  firstId: number;
  samples: number;
  /** Runs that the samples stand for. */
  runs: number;
  /** Of each store: silent stores, or bytes of a string instruction; of each load: loads that found something new. */
  stores: number[];
  loads: number[];
}

/** What one access has counted in all, or in a context. */
export interface StoreSums extends StoreFate {
  runs: number;
  /** Silent stores, or bytes of a string instruction. */
  counted: number;
}

/** All that was sampled, by the address of the slot of their block. */
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
    const all = byBlock.get(block) ?? [];
    if (all.length === 0) byBlock.set(block, all);
    all.push({
      ...{
        node: view.getUint32(at + Sampled.node, true),
        firstId: view.getUint32(at + Sampled.firstId, true),
      },
      ...{ samples: long(at + Sampled.samples), runs: long(at + Sampled.runs) },
      ...{ stores: sums.slice(0, stores), loads: sums.slice(stores) },
    });
    at += Sampled.counts + 8 * (stores + loads);
  }
  return byBlock;
}

/** Samples that found no room, no id or no context. */
export function refusedSamples(counts: CountsFile): number {
  return Number(
    new DataView(counts.bytes(SAMPLED, SAMPLED + SampledHead.table).buffer).getBigInt64(
      SampledHead.refused,
      true,
    ),
  );
}

/** They lie one behind the other, from behind the table on. */
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

/** What the slots of a block have, where its sample has not ended: the process did before. */
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
 * What an access has counted in all, spread over the contexts of its block: by what samples of each say of a run there, times the runs
 * that they stand for.
 */
export function spread<T extends Record<string, number>>(
  all: T,
  contexts: readonly SampledContext[],
  sampled: readonly T[],
): T[] {
  const shares = Object.keys(all).map((name) => {
    const weights = contexts.map(({ samples, runs }, i) =>
      name === "runs" ? runs : (sampled[i][name] / Math.max(1, samples)) * runs,
    );
    return [name, shareOut(all[name], weights, contexts)] as const;
  });
  return contexts.map((_, i) => Object.fromEntries(shares.map(([name, parts]) => [name, parts[i]])) as T);
}

/** Whole parts of a number; where no sample has met any, by runs. */
function shareOut(total: number, weights: readonly number[], contexts: readonly SampledContext[]): number[] {
  const known = weights.some((weight) => weight > 0) ? weights : contexts.map(({ runs }) => runs);
  const sum = known.reduce((before, weight) => before + weight, 0) || 1;
  let [passed, given] = [0, 0];
  return known.map((weight) => {
    passed += weight;
    const until = Math.round((total * passed) / sum);
    const part = until - given;
    given = until;
    return part;
  });
}
