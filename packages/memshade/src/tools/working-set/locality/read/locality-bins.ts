import { BIN_BYTES, FINE_BITS, SINGLE_BITS } from "../layout.ts";
import { HISTOGRAM_BINS } from "../memory-plan.ts";

/** Values below have a bin each. */
const SINGLE_BINS = 2 ** SINGLE_BITS;

/** (mean value of a bin, weight), smallest value first. */
export type Weighted = [value: number, weight: number][];

/** Weights and sums of values by bin; those of bins of one value may lack the sum. */
export type Bins = Map<number, { weight: number; sum: number }>;

/** Reads the histogram at an address. */
export function readBins(view: DataView, at: number): Bins {
  const bins: Bins = new Map();
  for (let bin = 0; bin < HISTOGRAM_BINS; bin++) {
    const weight = view.getFloat64(at + bin * BIN_BYTES, true);
    if (weight !== 0) bins.set(bin, { weight, sum: view.getFloat64(at + bin * BIN_BYTES + 8, true) });
  }
  return bins;
}

export function addTo(bins: Bins, value: number): void {
  const number = binOf(value);
  const bin = bins.get(number) ?? { weight: 0, sum: 0 };
  bin.weight++;
  bin.sum += value;
  bins.set(number, bin);
}

export function weighted(bins: Bins): Weighted {
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
