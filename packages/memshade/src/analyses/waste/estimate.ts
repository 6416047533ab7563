/** What a sampling tool saw of one context's operations. */
export interface SampledWaste {
  /** Operations of the context that were sampled, one in `period`. */
  sampled: number;
  period: number;
  /** Sampled operations that could be watched to a verdict, and those of them that were waste. */
  verdicts: number;
  wasted: number;
}

/**
 * Wasted operations of a context: the verdicts are spread over its samples that were not watched. Undefined where there
 * is no verdict: nothing is known then, which is not 0.
 */
export function estimateWaste({ sampled, period, verdicts, wasted }: SampledWaste): number | undefined {
  return verdicts === 0 ? undefined : (sampled * period * wasted) / verdicts;
}
