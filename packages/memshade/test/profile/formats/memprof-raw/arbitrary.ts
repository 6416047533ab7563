import fc from "fast-check";
import type { RawProfile } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { arbitraryMib } from "../../model/arbitrary.ts";

const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

const segment = fc.record({
  start: u64,
  end: u64,
  offset: u64,
  buildId: fc.uint8Array({ maxLength: 32 }),
});

const context = fc.record({ stackId: u64, mib: arbitraryMib, pcs: fc.array(u64, { maxLength: 5 }) });

export const rawProfile: fc.Arbitrary<RawProfile> = fc.record({
  version: fc.constant(4 as const),
  segments: fc.array(segment, { maxLength: 3 }),
  contexts: fc.uniqueArray(context, { maxLength: 4, selector: ({ stackId }) => stackId }),
});
