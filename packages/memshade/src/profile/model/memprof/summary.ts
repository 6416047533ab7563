import { classifyAllocation, type HotColdThresholds, LLVM_THRESHOLDS } from "./hot-cold.ts";
import { blockColumn, type MemprofProfile } from "./profile.ts";

/** The six figures at the head of a MemProf profile. Sizes are the largest TotalSize of a context, in bytes. */
export interface MemprofSummary {
  readonly contexts: bigint;
  readonly coldContexts: bigint;
  readonly hotContexts: bigint;
  readonly maxColdTotalSize: bigint;
  readonly maxWarmTotalSize: bigint;
  readonly maxHotTotalSize: bigint;
}

/**
 * Summarizes a profile. Each call stack counts once, with the block of its first site in record order.
 */
export function summarize(
  profile: MemprofProfile,
  thresholds: HotColdThresholds = LLVM_THRESHOLDS,
): MemprofSummary {
  const { records, blocks, stacks } = profile;
  const allocCount = blockColumn(blocks, "allocCount");
  const totalSize = blockColumn(blocks, "totalSize");
  const totalLifetime = blockColumn(blocks, "totalLifetime");
  const density = blockColumn(blocks, "totalLifetimeAccessDensity");
  const seen = new Uint8Array(stacks.length);
  const summary = new SummaryBuilder(thresholds);
  for (let site = 0; site < records.allocStack.length; site++) {
    const stack = records.allocStack[site]!;
    if (seen[stack] === 1) continue;
    seen[stack] = 1;
    const row = records.allocBlock[site]!;
    summary.add(
      Number(allocCount?.[row] ?? 0),
      BigInt(totalSize?.[row] ?? 0),
      totalLifetime?.[row] ?? 0,
      density?.[row] ?? 0,
    );
  }
  return summary.build();
}

/** Collects a summary context by context. */
export class SummaryBuilder {
  readonly #thresholds: HotColdThresholds;
  readonly #contexts = { cold: 0n, hot: 0n, notcold: 0n };
  readonly #largest = { cold: 0n, hot: 0n, notcold: 0n };

  constructor(thresholds: HotColdThresholds = LLVM_THRESHOLDS) {
    this.#thresholds = thresholds;
  }

  add(
    allocCount: number,
    totalSize: bigint,
    totalLifetime: bigint | number,
    totalLifetimeAccessDensity: bigint | number,
  ): void {
    const type = classifyAllocation(allocCount, totalLifetime, totalLifetimeAccessDensity, this.#thresholds);
    this.#contexts[type] += 1n;
    if (totalSize > this.#largest[type]) this.#largest[type] = totalSize;
  }

  build(): MemprofSummary {
    const contexts = this.#contexts;
    const largest = this.#largest;
    return {
      contexts: contexts.cold + contexts.hot + contexts.notcold,
      coldContexts: contexts.cold,
      hotContexts: contexts.hot,
      maxColdTotalSize: largest.cold,
      maxWarmTotalSize: largest.notcold,
      maxHotTotalSize: largest.hot,
    };
  }
}
