import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import { findSites } from "../../../../src/record/tools/waste/pass/weaving-plan.ts";
import { decodeSites, encodeSites } from "../../../../src/record/tools/waste/site-table.ts";

const PROGRAMS = new URL("../../../fixtures/programs/", import.meta.url);
const FILES = readdirSync(PROGRAMS, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".wasm"),
);

it("a description says of sites what the code says, in some two bytes for each", () => {
  for (const file of FILES) {
    const module = decodeModule(new Uint8Array(readFileSync(new URL(file, PROGRAMS))));
    const { importedFunctionCount: first, bodies } = module;
    const sites = findSites(module, bodies.length === 0 ? [] : [first, first + bodies.length - 1]);
    const encoded = encodeSites(sites);
    expect(decodeSites(encoded), file).toEqual(sites);
    expect(encoded.length).toBeLessThan(sites.length * 3 + bodies.length * 2 + 100);
  }
});
