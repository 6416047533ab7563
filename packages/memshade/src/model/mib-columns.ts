import type { Mib } from "./mib.ts";
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

export function columnsOfMibs(mibs: readonly Mib[]): MibColumns {
  const columns = MIB_FIELDS.map((field) =>
    field.bytes === 4
      ? [field.name, Uint32Array.from(mibs, (mib) => mib[field.name])]
      : [field.name, BigUint64Array.from(mibs, (mib) => mib[field.name])],
  );
  return { ...Object.fromEntries(columns), histogram: mibs.map(({ histogram }) => histogram) } as MibColumns;
}

/** One row of the columns as a MIB. */
export function mibAt(columns: MibColumns, row: number): Mib {
  const mib = Object.fromEntries(MIB_FIELDS.map(({ name }) => [name, columns[name][row]])) as unknown as Mib;
  const histogram = columns.histogram[row];
  return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
}
