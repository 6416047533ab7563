import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BLOCK_BYTES, OFFSET_BYTES, OFFSETS, SITE_HEADER_BYTES } from "../../../src/tools/index.ts";
import { RECORD_SHIFTS } from "../../../src/tools/waste/pass/waste-layout.ts";
import { WasteControl } from "../../../src/tools/waste/pass/weave-waste.ts";
import { BlockField, SiteField } from "../../../src/tools/waste/read/read-objects.ts";
import {
  ControlField,
  LoadField,
  RECORD_BYTES,
  StoreField,
} from "../../../src/tools/waste/read/waste-offsets.ts";

const SOURCE = readFileSync(new URL("../../../src/tools/waste/assembly/layout.ts", import.meta.url), "utf8");

/** The constants of the module's side by name. */
const CONSTANTS = new Map(
  [...SOURCE.matchAll(/^export const (\w+): \w+ = (\d+);/gm)].map(([, name, value]) => [name, Number(value)]),
);

/** `silentBytes` with prefix `S` → `S_SILENT_BYTES`. */
const nameOf = (prefix: string, field: string) =>
  `${prefix}_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

describe("the layout of the waste tool's memory", () => {
  for (const [prefix, fields] of [
    ["S", StoreField],
    ["L", LoadField],
    ["C", ControlField],
    ["C", WasteControl],
  ] as const)
    it(`is the same in the module and in its reader: ${Object.keys(fields).join(", ")}`, () => {
      for (const [field, offset] of Object.entries(fields))
        expect(CONSTANTS.get(nameOf(prefix, field)), field).toBe(offset);
    });

  it("has blocks and sites of one shape", () => {
    const objects = readFileSync(
      new URL("../../../src/tools/waste/assembly/objects.ts", import.meta.url),
      "utf8",
    );
    const constants = new Map(
      [...objects.matchAll(/^const (\w+): \w+ = (\d+);/gm)].map(([, name, value]) => [name, Number(value)]),
    );
    for (const [prefix, fields] of [
      ["O", SiteField],
      ["B", BlockField],
    ] as const)
      for (const [field, offset] of Object.entries(fields))
        expect(constants.get(nameOf(prefix, field)), field).toBe(offset);
    expect(constants.get("BLOCK_SIZE")).toBe(BLOCK_BYTES);
    expect(constants.get("OFFSETS")).toBe(OFFSETS);
    expect(constants.get("COUNTS_SIZE")).toBe(OFFSET_BYTES);
    expect(constants.get("HEADER")).toBe(SITE_HEADER_BYTES);
  });

  it("gives each word of the control block one meaning", () => {
    const offsets = [...CONSTANTS].filter(([name]) => name.startsWith("C_")).map(([, offset]) => offset);
    expect(new Set(offsets).size).toBe(offsets.length);
  });

  it("has records of one size", () => {
    expect(CONSTANTS.get("RECORD_SIZE")).toBe(RECORD_BYTES);
    expect(RECORD_SHIFTS.full).toEqual({ stores: Math.log2(RECORD_BYTES), loads: Math.log2(RECORD_BYTES) });
  });

  it("has records as long as the fields that one id per byte needs", () => {
    expect(StoreField.same + 8).toBe(1 << RECORD_SHIFTS.brief.stores);
    expect(LoadField.silent + 8).toBe(1 << RECORD_SHIFTS.brief.loads);
  });
});
