import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";

const read = (name: string): Uint8Array =>
  readFileSync(new URL(`../../fixtures/programs/debug/${name}.wasm`, import.meta.url));

function mixed(code: Uint8Array, debug: Uint8Array): Symbolizer {
  return new Symbolizer(openObject(code), { debug: openObject(debug) });
}

/** Addresses in the module's code at which the symbolizer reports debug information of other code. */
function staleAddresses(symbolizer: Symbolizer, bytes: number): number {
  return Array.from({ length: bytes }, (_, address) => address).filter((address) =>
    symbolizer.isStaleAt(address),
  ).length;
}

describe("debug information", () => {
  it("is of a module's code where its functions begin where those of the module do", () => {
    for (const name of ["lines", "blocks", "c-blocks"])
      expect(staleAddresses(mixed(read(name), read(name)), 4000)).toBe(0);
  });

  it("is of other code where they do not", () => {
    expect(staleAddresses(mixed(read("blocks"), read("lines")), 4000)).toBeGreaterThan(0);
    expect(staleAddresses(mixed(read("lines"), read("c-blocks")), 4000)).toBeGreaterThan(0);
  });
});
