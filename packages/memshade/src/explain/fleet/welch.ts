/** Samples of one measure: how many, their sum, and the sum of their squares. */
export interface Samples {
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
}

export const NO_SAMPLES: Samples = { count: 0, sum: 0, squares: 0 };

export function addSamples(a: Samples, b: Samples): Samples {
  return { count: a.count + b.count, sum: a.sum + b.sum, squares: a.squares + b.squares };
}

export function meanOf({ count, sum }: Samples): number {
  return count === 0 ? 0 : sum / count;
}

/** Of the samples, not of what they were drawn from: 0 for one. */
export function varianceOf({ count, sum, squares }: Samples): number {
  return count === 0 ? 0 : Math.max(0, squares / count - (sum / count) ** 2);
}

/** Sums of large numbers are off in their last digits: so much of a mean is no spread. */
const ROUNDING = 1e-9;

/** Whether all samples are one number. */
export function areEqual(samples: Samples): boolean {
  return Math.sqrt(varianceOf(samples)) <= Math.abs(meanOf(samples)) * Math.sqrt(ROUNDING);
}

/** Fewer samples than these say nothing of their spread. */
export const LEAST_SAMPLES = 3;
/** Of what only differs by chance, one in some 100,000 has so large a t where there are ten samples a side. */
export const LEAST_T = 5;

/**
 * How many standard errors the mean of `now` is above that of `before` (Welch's t, of samples whose spreads differ); undefined
 * for fewer than three samples a side.
 *
 * For example: ten runs with 100 ± 10, ten with 125 ± 10: 25 / √(100 / 9 + 100 / 9) = 5.3
 */
export function welchT(before: Samples, now: Samples): number | undefined {
  if (before.count < LEAST_SAMPLES || now.count < LEAST_SAMPLES) return undefined;
  const difference = meanOf(now) - meanOf(before);
  const error = Math.sqrt(varianceOf(before) / (before.count - 1) + varianceOf(now) / (now.count - 1));
  if (error <= Math.abs(meanOf(before)) * ROUNDING)
    return difference === 0 ? 0 : Math.sign(difference) * Infinity;
  return difference / error;
}
