import { ValueHistogram } from "./histogram.ts";
import { MissRatioCurve } from "./miss-ratio.ts";

/** What a sampled reference stream tells about the whole one. */
export interface ShardsProfile {
  /** All references, sampled or not. */
  references: number;
  /** Sampled references. */
  sampled: number;
  rate: number;
  /** Distances scaled to the whole stream. */
  distances: ValueHistogram;
  cold: number;
}

/**
 * The miss-ratio curve of a sampled stream, adjusted (SHARDS-adj): the difference between the expected and the actual
 * number of sampled references is added to the references of distance 0. A few hot lines in or out of the sample would
 * shift the whole curve otherwise. (Waldspurger et al., Efficient MRC Construction with SHARDS, FAST '15.)
 */
export function shardsCurve({ references, sampled, rate, distances, cold }: ShardsProfile): MissRatioCurve {
  const adjusted = new ValueHistogram();
  for (const [distance, weight] of distances.entries()) adjusted.add(distance, weight);
  const missing = references * rate - sampled;
  adjusted.add(0, missing);
  return new MissRatioCurve(adjusted, cold, sampled + missing);
}
