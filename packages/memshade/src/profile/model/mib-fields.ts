import type { Mib } from "./mib.ts";

export type U32Field = { [K in keyof Mib]-?: Mib[K] extends number ? K : never }[keyof Mib];
export type U64Field = { [K in keyof Mib]-?: Mib[K] extends bigint ? K : never }[keyof Mib];

export type MibField =
  | { readonly tag: number; readonly name: U32Field; readonly bytes: 4 }
  | { readonly tag: number; readonly name: U64Field; readonly bytes: 8 };

/** First tag of the histogram fields, which exist since raw version 4; the fields before it exist since version 3. */
export const FIRST_HISTOGRAM_TAG = 26;

/**
 * Fields of a MIB in the order of the raw format, packed.
 *
 * `tag` is the number in the indexed format's schema, `name` the key in {@link Mib} (MemProf's own name with a small
 * first letter), `bytes` the width in a file.
 */
export const MIB_FIELDS: readonly MibField[] = [
  { tag: 1, name: "allocCount", bytes: 4 },
  { tag: 2, name: "totalAccessCount", bytes: 8 },
  { tag: 3, name: "minAccessCount", bytes: 8 },
  { tag: 4, name: "maxAccessCount", bytes: 8 },
  { tag: 5, name: "totalSize", bytes: 8 },
  { tag: 6, name: "minSize", bytes: 4 },
  { tag: 7, name: "maxSize", bytes: 4 },
  { tag: 8, name: "allocTimestamp", bytes: 4 },
  { tag: 9, name: "deallocTimestamp", bytes: 4 },
  { tag: 10, name: "totalLifetime", bytes: 8 },
  { tag: 11, name: "minLifetime", bytes: 4 },
  { tag: 12, name: "maxLifetime", bytes: 4 },
  { tag: 13, name: "allocCpuId", bytes: 4 },
  { tag: 14, name: "deallocCpuId", bytes: 4 },
  { tag: 15, name: "numMigratedCpu", bytes: 4 },
  { tag: 16, name: "numLifetimeOverlaps", bytes: 4 },
  { tag: 17, name: "numSameAllocCpu", bytes: 4 },
  { tag: 18, name: "numSameDeallocCpu", bytes: 4 },
  { tag: 19, name: "dataTypeId", bytes: 8 },
  { tag: 20, name: "totalAccessDensity", bytes: 8 },
  { tag: 21, name: "minAccessDensity", bytes: 4 },
  { tag: 22, name: "maxAccessDensity", bytes: 4 },
  { tag: 23, name: "totalLifetimeAccessDensity", bytes: 8 },
  { tag: 24, name: "minLifetimeAccessDensity", bytes: 4 },
  { tag: 25, name: "maxLifetimeAccessDensity", bytes: 4 },
  { tag: 26, name: "accessHistogramSize", bytes: 4 },
  { tag: 27, name: "accessHistogram", bytes: 8 },
];

const ZERO_MIB = Object.fromEntries(
  MIB_FIELDS.map(({ name, bytes }) => [name, bytes === 4 ? 0 : 0n]),
) as unknown as Mib;

export function zeroMib(): Mib {
  return { ...ZERO_MIB };
}
