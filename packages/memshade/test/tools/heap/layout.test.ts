import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { THREAD_FIELDS } from "../../../src/tools/heap/pass/thread-sharing.ts";
import * as offsets from "../../../src/tools/heap/read/shadow-offsets.ts";

const LAYOUT = new URL("../../../src/tools/heap/assembly/layout.ts", import.meta.url);

/** The numbers that the code inside the module is compiled with, by name. */
const constants = new Map(
  [
    ...readFileSync(LAYOUT, "utf8").matchAll(/^export const ([A-Z]+_[A-Z_0-9]+): (?:usize|u32) = (\d+);/gm),
  ].map(([, name, value]) => [name, Number(value)] as const),
);

/** C_PEAK_BYTES → peakBytes */
const fieldsOf = (prefix: string): Record<string, number> =>
  Object.fromEntries(
    [...constants]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [
        name
          .slice(prefix.length)
          .toLowerCase()
          .replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
        value,
      ]),
  );

describe("the reader of the shadow tables", () => {
  it("knows the constants of the code that fills them", () => {
    expect(constants.size).toBeGreaterThan(80);
    expect(fieldsOf("C_")).toEqual(offsets.Control);
    expect(offsets.Control).toMatchObject(THREAD_FIELDS);
    expect(fieldsOf("M_")).toEqual(offsets.Block);
    expect(fieldsOf("S_")).toEqual(offsets.Shape);
    expect(fieldsOf("N_")).toEqual(offsets.Node);
    expect(fieldsOf("R_")).toEqual(offsets.Record);
    expect({ time: constants.get("SLOT_TIME"), tag: constants.get("SLOT_TAG") }).toEqual(offsets.Slot);
    expect(fieldsOf("TAG_")).toMatchObject({
      contextShift: offsets.Tag.contextShift,
      sizeShift: offsets.Tag.sizeShift,
      sizeMask: offsets.Tag.sizeMask,
      placeMask: offsets.Tag.placeMask,
    });
    const sizes = [
      "MIB_SIZE",
      "SHAPE_SIZE",
      "SHAPE_COUNT",
      "NODE_SIZE",
      "RECORD_SIZE",
      "REGION_BITS",
      "SLOT_REGION_SIZE",
    ];
    expect(sizes.map((name) => constants.get(name))).toEqual([
      offsets.BLOCK_BYTES,
      offsets.SHAPE_BYTES,
      offsets.SHAPE_COUNT,
      offsets.NODE_BYTES,
      offsets.RECORD_BYTES,
      offsets.REGION_BITS,
      offsets.SLOT_REGION_BYTES,
    ]);
  });

  it("finds no two fields of a table in one place", () => {
    for (const table of [
      offsets.Control,
      offsets.Block,
      offsets.Shape,
      offsets.Node,
      offsets.Slot,
      offsets.Record,
    ]) {
      const places = Object.values(table);
      expect(new Set(places).size).toBe(places.length);
    }
  });
});
