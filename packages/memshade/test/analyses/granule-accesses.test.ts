import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { granuleAccesses, placedAccesses } from "../../src/analyses/granule-accesses.ts";
import { heapProfileFromRaw, readRaw } from "../../src/formats/memprof-raw/index.ts";
import type { IndexIntoContextTable } from "../../src/model/indices.ts";
import { accessedPlaces } from "../../src/report/terminal/heap/accessed-places.ts";

const FOLDER = new URL("../fixtures/memprof/", import.meta.url);

function profileOf(name: string) {
  return heapProfileFromRaw(readRaw(readFileSync(new URL(name, FOLDER))), undefined, () => () => []);
}

describe("where in their blocks accesses go", () => {
  it("is told of profiles with histograms, with what no access went to", () => {
    const profile = profileOf("histogram.v4.memprofraw");
    const accesses = placedAccesses(profile)!;
    const busiest = accesses.indexOf(Math.max(...accesses)) as IndexIntoContextTable;
    const { counts, untouched } = granuleAccesses(profile, [busiest]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(accesses[busiest]);
    expect(untouched).toEqual([
      { start: 0, end: 8 },
      { start: 32, end: 96 },
    ]);
    expect(accessedPlaces(profile, [busiest], 2)).toEqual([
      "  │ ▁█▁        │",
      "  96 B long · most at byte 16: 10,200 · never bytes 0–7, 32–95",
    ]);
  });

  it("is not told of profiles without", () => {
    const profile = profileOf("threads.v5.memprofraw");
    expect(placedAccesses(profile)).toBeUndefined();
    expect(accessedPlaces(profile, [0 as IndexIntoContextTable], 2)).toEqual([]);
  });
});
