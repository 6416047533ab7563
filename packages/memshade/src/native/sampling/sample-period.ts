const NS_PER_SECOND = 1e9;

/** CPU time from one sample to the next, ns. */
export function samplePeriod(hz: number): number {
  return Math.round(NS_PER_SECOND / hz);
}
