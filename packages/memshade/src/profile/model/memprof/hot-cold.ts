export type AllocationType = "cold" | "hot" | "notcold";

/** Limits of the classification, in the units of LLVM's corresponding options. */
export interface HotColdThresholds {
  /** Cold below: mean accesses per byte and second of lifetime (`memprof-lifetime-access-density-cold-threshold`). */
  readonly coldDensity: number;
  /** Cold from: mean lifetime in seconds (`memprof-ave-lifetime-cold-threshold`). */
  readonly coldLifetimeSeconds: number;
  /** Hot above: mean accesses per byte and second (`memprof-min-ave-lifetime-access-density-hot-threshold`). */
  readonly hotDensity: number;
  /** True if contexts may be classified as hot (`memprof-use-hot-hints`). */
  readonly usesHot: boolean;
}

export const LLVM_THRESHOLDS: HotColdThresholds = {
  coldDensity: 0.05,
  coldLifetimeSeconds: 200,
  hotDensity: 1000,
  usesHot: false,
};

/**
 * Classifies one MIB in 32-bit float arithmetic, as the compiler does.
 *
 * @param totalLifetime milliseconds, over all blocks
 * @param totalLifetimeAccessDensity accesses per byte and second times 100, over all blocks
 */
export function classifyAllocation(
  allocCount: number,
  totalLifetime: bigint | number,
  totalLifetimeAccessDensity: bigint | number,
  thresholds: HotColdThresholds = LLVM_THRESHOLDS,
): AllocationType {
  const f32 = Math.fround;
  const density = f32(f32(f32(Number(totalLifetimeAccessDensity)) / f32(allocCount)) / f32(100));
  const lifetime = f32(f32(Number(totalLifetime)) / f32(allocCount));
  if (density < f32(thresholds.coldDensity) && lifetime >= f32(thresholds.coldLifetimeSeconds * 1000))
    return "cold";
  return thresholds.usesHot && density > f32(thresholds.hotDensity) ? "hot" : "notcold";
}
