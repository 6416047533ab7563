import fc from "fast-check";
import { ProfileMerger } from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS, zeroMib } from "../../../../src/profile/model/mib-fields.ts";

export interface Context {
  readonly frames: readonly {
    readonly guid: bigint;
    readonly lineOffset: number;
    readonly column: number;
    readonly inline: boolean;
  }[];
  readonly count: number;
  readonly lifetime: bigint;
}

/** Few different frames, so that stacks share their ends, contain each other, and recur. */
export const anyContext: fc.Arbitrary<Context> = fc.record({
  frames: fc.array(
    fc.record({
      guid: fc.constantFrom(3n, 7n, 2n ** 63n),
      lineOffset: fc.constantFrom(0, 9),
      column: fc.nat(1),
      inline: fc.boolean(),
    }),
    { minLength: 1, maxLength: 9 },
  ),
  count: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  lifetime: fc.oneof(fc.bigInt({ min: 0n, max: 1000n }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
});

/** A merger with these contexts, some of them with histograms, and with call sites on their stacks. */
export function mergerOf(contexts: readonly Context[]): ProfileMerger {
  const merger = new ProfileMerger(MIB_FIELDS, false);
  for (const { frames, count, lifetime } of contexts) {
    const stack = frames.reduceRight(
      (outer, frame) => merger.stacks.child(outer, merger.frames.intern(frame)),
      0,
    );
    const known = merger.contexts.length;
    const row = merger.contexts.rowOf(stack);
    const mib = { ...zeroMib(), allocCount: count, totalLifetime: lifetime };
    merger.blocks.addMib(mib, row, row === known, 0);
    if (count % 3 === 0) merger.addHistogram(row, BigUint64Array.of(BigInt(count), lifetime));
    // Call sites on the stack; one of them may have no frame at all.
    for (const { guid } of frames.slice(2)) merger.callSites.add(guid, stack, [BigInt(count)]);
    if (frames.length > 8) merger.callSites.add(7n, 0, undefined);
  }
  return merger;
}
