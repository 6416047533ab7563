import type { MibField } from "../../../model/mib-fields.ts";
import { COLUMN, FIELDS } from "./columns.ts";
import type { SymbolCoder } from "./symbol-coder.ts";

type Name = MibField["name"];

/** Fields of the blocks before and of this one, as far as they are coded. */
interface Known {
  readonly now: Readonly<Record<Name, bigint>>;
  readonly before: Readonly<Record<Name, bigint>>;
}

/** What a field is expected to be. */
type Expected = (known: Known) => bigint;

const LEAST_32 = (1n << 32n) - 1n;
const none: Expected = () => 0n;
const same =
  (name: Name): Expected =>
  ({ now }) =>
    now[name];
const before =
  (name: Name): Expected =>
  (known) =>
    known.before[name];
const count = ({ now }: Known) => now.allocCount || 1n;
/** The mean of the least and the most, times the number of allocations. */
const total =
  (least: Name, most: Name): Expected =>
  (known) =>
    ((known.now[least] + known.now[most]) * count(known)) / 2n;
const atLeast1 = (value: bigint) => value || 1n;
const lifetime: Expected = ({ now }) => (now.deallocTimestamp - now.allocTimestamp) & LEAST_32;

/** The fields in the order in which they are coded: what is expected of each follows from those before it. */
const STEPS: readonly (readonly [Name, Expected])[] = [
  ["allocCount", none],
  ["minSize", none],
  ["maxSize", same("minSize")],
  ["totalSize", total("minSize", "maxSize")],
  ["minAccessCount", none],
  ["maxAccessCount", same("minAccessCount")],
  ["totalAccessCount", total("minAccessCount", "maxAccessCount")],
  ["allocTimestamp", before("allocTimestamp")],
  ["deallocTimestamp", same("allocTimestamp")],
  ["minLifetime", (known) => (known.now.allocCount === 1n ? lifetime(known) : 0n)],
  [
    "maxLifetime",
    (known) => (lifetime(known) > known.now.minLifetime ? lifetime(known) : known.now.minLifetime),
  ],
  ["totalLifetime", total("minLifetime", "maxLifetime")],
  ["allocCpuId", before("deallocCpuId")],
  ["deallocCpuId", same("allocCpuId")],
  ["numMigratedCpu", ({ now }) => (now.allocCpuId === now.deallocCpuId ? 0n : 1n)],
  ["numLifetimeOverlaps", none],
  ["numSameAllocCpu", (known) => count(known) - 1n],
  ["numSameDeallocCpu", same("numSameAllocCpu")],
  ["dataTypeId", none],
  ["minAccessDensity", ({ now }) => (now.minAccessCount * 100n) / atLeast1(now.maxSize)],
  ["maxAccessDensity", ({ now }) => (now.maxAccessCount * 100n) / atLeast1(now.minSize)],
  [
    "totalAccessDensity",
    (known) =>
      known.now.minAccessDensity === known.now.maxAccessDensity
        ? known.now.minAccessDensity * count(known)
        : (known.now.totalAccessCount * 200n) / atLeast1(known.now.minSize + known.now.maxSize),
  ],
  ["minLifetimeAccessDensity", ({ now }) => (now.minAccessDensity * 1000n) / atLeast1(now.maxLifetime)],
  ["maxLifetimeAccessDensity", ({ now }) => (now.maxAccessDensity * 1000n) / atLeast1(now.minLifetime)],
  ["totalLifetimeAccessDensity", ({ now }) => (now.totalAccessDensity * 1000n) / atLeast1(now.maxLifetime)],
];

const ZEROS = Object.fromEntries(FIELDS.map(({ name }) => [name, 0n])) as Record<Name, bigint>;

/** Fields of a block as differences to what they are expected to be. */
export class BlockCoder {
  private readonly coder: SymbolCoder;
  private last = ZEROS;
  /** By field: the difference that was coded last. */
  private readonly lastDifference = new Map<Name, number>();

  constructor(coder: SymbolCoder) {
    this.coder = coder;
  }

  /** The fields of the next block, in the order of {@link FIELDS}. */
  fields(given: readonly bigint[] | undefined): bigint[] {
    const { coder, lastDifference } = this;
    const now = { ...ZEROS };
    const known: Known = { now, before: this.last };
    let size = 0;
    for (const [name, expected] of STEPS) {
      const { field, index } = PLACES.get(name)!;
      const bits = 8 * field.bytes;
      const least = expected(known);
      const difference = BigInt.asIntN(bits, (given?.[index] ?? 0n) - least);
      const folded = difference < 0n ? -2n * difference - 1n : 2n * difference;
      const single = now.allocCount === 1n ? 1 : 0;
      const coded = coder.wide(
        COLUMN.field + 1 + index,
        4 * single + size,
        4 * (lastDifference.get(name) ?? -1) + single,
        folded,
      );
      now[name] = BigInt.asUintN(bits, least + (coded & 1n ? -((coded + 1n) >> 1n) : coded >> 1n));
      size = coded === 0n ? 0 : coded < 16n ? 1 : 2;
      lastDifference.set(name, Number(coded & 0xffffffn));
    }
    this.last = now;
    return FIELDS.map(({ name }) => now[name]);
  }

  /** The histogram of the block whose fields came last. */
  histogram(given: readonly bigint[] | undefined, fields: readonly bigint[]): bigint[] {
    const { coder } = this;
    const granules = (fields[PLACES.get("maxSize")!.index]! + 7n) / 8n;
    const length = given?.length ?? 0;
    const isWhole = BigInt(length) === granules ? 0 : 1;
    const entries =
      coder.number(COLUMN.histogramLength, 0, 0, isWhole) === 0
        ? Number(granules)
        : coder.number(COLUMN.histogramLength, 1, 0, length);
    const histogram: bigint[] = [];
    let [one, two] = [0, 0];
    for (let at = 0; at < entries; at++) {
      const value = coder.wide(COLUMN.histogramEntry, one, two, given?.[at] ?? 0n);
      histogram.push(value);
      two = one;
      one = Number(value & 0xffffffn);
    }
    return histogram;
  }
}

const PLACES = new Map(FIELDS.map((field, index) => [field.name, { field, index }]));
