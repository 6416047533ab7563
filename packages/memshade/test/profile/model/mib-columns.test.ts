import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrowingMibColumns, type MibColumns, mibAt } from "../../../src/profile/model/heap-profile.ts";
import type { Mib } from "../../../src/profile/model/mib.ts";
import { MIB_FIELDS } from "../../../src/profile/model/mib-fields.ts";
import { arbitraryMib } from "./arbitrary.ts";

function columnsOfMibs(mibs: readonly Mib[]): MibColumns {
  const columns = new GrowingMibColumns();
  for (const mib of mibs) columns.add(mib);
  return columns.build();
}

describe("MIBs as columns", () => {
  it("are the same MIBs row by row", () => {
    fc.assert(
      fc.property(fc.array(arbitraryMib, { maxLength: 4 }), (mibs) => {
        const columns = columnsOfMibs(mibs);
        expect(mibs.map((_, row) => mibAt(columns, row))).toEqual(mibs);
      }),
    );
  });

  it("have the 27 fields of the format, packed into 144 bytes", () => {
    expect(MIB_FIELDS.map(({ tag }) => tag)).toEqual(Array.from({ length: 27 }, (_, index) => index + 1));
    expect(MIB_FIELDS.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(144);
    expect(Object.keys(columnsOfMibs([])).sort()).toEqual(
      [...MIB_FIELDS.map(({ name }) => name), "histogram"].sort(),
    );
  });
});
