import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WasteControl } from "../../../src/instrument/waste/weave-waste.ts";
import {
  ControlField,
  LoadField,
  RECORD_BYTES,
  StoreField,
} from "../../../src/runtime/host/waste/read-waste.ts";

const SOURCE = readFileSync(
  new URL("../../../src/runtime/shadow/assembly/waste/layout.ts", import.meta.url),
  "utf8",
);

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

  it("has records of one size", () => {
    expect(CONSTANTS.get("RECORD_SIZE")).toBe(RECORD_BYTES);
  });
});
