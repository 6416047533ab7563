import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  areAccessesCut,
  granuleAccesses,
  placedAccesses,
} from "../../../src/explain/analyses/granule-accesses.ts";
import { heapProfileFromRaw, readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import type { IndexIntoContextTable } from "../../../src/profile/model/indices.ts";
import { accessedPlaces } from "../../../src/show/report/terminal/heap/heap-report.ts";

const FOLDER = new URL("../../fixtures/memprof/", import.meta.url);

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

  it("is told with the counters that may have been full", () => {
    const exact = profileOf("histogram.v4.memprofraw");
    const profile = { ...exact, description: { ...exact.description, counterLimit: 255 } };
    const rows = Array.from({ length: exact.contexts.length }, (_, row) => row as IndexIntoContextTable);
    const cut = rows.filter((row) => areAccessesCut(profile, [row]));
    expect(areAccessesCut(exact)).toBe(false);
    expect(areAccessesCut(profile)).toBe(true);
    expect(cut).toHaveLength(1);
    const { counts, isCut } = granuleAccesses(profile, cut);
    expect(isCut).toEqual(Array.from(counts, (count) => count >= 255));
    // Many blocks with few accesses each fill no counter.
    const { mibs } = exact.contexts;
    const maxAccessCount = mibs.maxAccessCount.map(() => 254n);
    const few = { ...profile, contexts: { ...exact.contexts, mibs: { ...mibs, maxAccessCount } } };
    expect(areAccessesCut(few)).toBe(false);
  });

  it("is not told of profiles without", () => {
    const profile = profileOf("threads.v5.memprofraw");
    expect(placedAccesses(profile)).toBeUndefined();
    expect(accessedPlaces(profile, [0 as IndexIntoContextTable], 2)).toEqual([]);
  });
});
