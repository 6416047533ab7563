import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { lineTableOf, SubroutineIndex } from "../../../src/code/dwarf/index.ts";
import { openObject } from "../../../src/code/objects/index.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";
import { npmModule, sampledAddresses } from "./support.ts";

vi.mock(import("../../../src/code/dwarf/index.ts"), async (original) => {
  const dwarf = await original();
  return { ...dwarf, lineTableOf: vi.fn(dwarf.lineTableOf), SubroutineIndex: vi.fn(dwarf.SubroutineIndex) };
});

const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm");
if (MODULE === undefined) console.warn("SKIPPED: there is no module with debug information");

it.skipIf(MODULE === undefined)(
  "a unit is decoded once, however its addresses alternate with others'",
  () => {
    const symbolizer = new Symbolizer(openObject(readFileSync(MODULE!)));
    const addresses = sampledAddresses(MODULE!, 2000);
    const near = addresses.map((address) => symbolizer.frames(address));
    // Addresses from both ends in turn: each is in another unit than the one before.
    const far = addresses.flatMap((_, index) => {
      const other = addresses.length - 1 - index;
      return index < other
        ? [symbolizer.frames(addresses[index]!), symbolizer.frames(addresses[other]!)]
        : [];
    });
    expect(far[1]).toEqual(near.at(-1));

    const decoded = vi.mocked(lineTableOf).mock.calls.map(([unit]) => unit);
    expect(new Set(decoded).size).toBeGreaterThan(3);
    expect(decoded.length).toBe(new Set(decoded).size);
    const indexed = vi.mocked(SubroutineIndex).mock.calls.map(([unit]) => unit);
    expect(new Set(indexed).size).toBeGreaterThan(3);
    expect(indexed.length).toBe(new Set(indexed).size);
  },
);
