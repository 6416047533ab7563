import { combineMibs, type Mib } from "./mib.ts";
import { MIB_FIELDS, type U32Field, type U64Field } from "./mib-fields.ts";

/** The MIBs of many contexts, one typed array per field. */
export type MibColumns = {
  readonly [Field in U32Field]: Uint32Array;
} & {
  readonly [Field in U64Field]: BigUint64Array;
} & {
  /** Accesses per 8-byte granule, where the profile has them. */
  readonly histogram: readonly (readonly bigint[] | undefined)[];
};

/** Sums that reports show. */
const TOTALS = MIB_FIELDS.filter(({ name }) =>
  ["allocCount", "totalSize", "totalAccessCount", "totalLifetime"].includes(name),
);

/** Collects MIBs in columns: as objects they would take several times as much memory. */
export class GrowingMibColumns {
  #length = 0;
  #capacity = 16;
  #columns = MIB_FIELDS.map(({ bytes }) => newColumn(bytes, this.#capacity));
  readonly #histograms: (readonly bigint[] | undefined)[] = [];

  add(mib: Mib): void {
    if (this.#length === this.#capacity) this.#grow();
    const row = this.#length++;
    for (const [index, { name }] of MIB_FIELDS.entries()) this.#columns[index]![row] = mib[name];
    this.#histograms.push(mib.histogram);
  }

  /** Puts the blocks of one more MIB into a row. @returns false, and does nothing, where a total would not fit into its field */
  combine(row: number, mib: Mib): boolean {
    const known = this.#at(row);
    if (TOTALS.some(({ name, bytes }) => BigInt(known[name]) + BigInt(mib[name]) >= 1n << BigInt(8 * bytes)))
      return false;
    const both = combineMibs(known, mib);
    for (const [index, { name }] of MIB_FIELDS.entries()) this.#columns[index]![row] = both[name];
    this.#histograms[row] = both.histogram;
    return true;
  }

  #at(row: number): Mib {
    const mib = Object.fromEntries(
      MIB_FIELDS.map(({ name }, index) => [name, this.#columns[index]![row]]),
    ) as unknown as Mib;
    const histogram = this.#histograms[row];
    return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
  }

  build(): MibColumns {
    const columns = MIB_FIELDS.map(({ name }, index) => [name, this.#columns[index]!.slice(0, this.#length)]);
    return { ...Object.fromEntries(columns), histogram: this.#histograms } as MibColumns;
  }

  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * 1.5);
    this.#columns = MIB_FIELDS.map(({ bytes }, index) => {
      const larger = newColumn(bytes, this.#capacity);
      larger.set(this.#columns[index]!);
      return larger;
    });
  }
}

/** A column of either kind: which of them, a field says. */
interface AnyColumn {
  [row: number]: number | bigint;
  set(values: AnyColumn): void;
  slice(start: number, end: number): AnyColumn;
}

function newColumn(bytes: 4 | 8, length: number): AnyColumn {
  return (bytes === 4 ? new Uint32Array(length) : new BigUint64Array(length)) as unknown as AnyColumn;
}

/** One row of the columns as a MIB. */
export function mibAt(columns: MibColumns, row: number): Mib {
  const mib = Object.fromEntries(MIB_FIELDS.map(({ name }) => [name, columns[name][row]])) as unknown as Mib;
  const histogram = columns.histogram[row];
  return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
}
