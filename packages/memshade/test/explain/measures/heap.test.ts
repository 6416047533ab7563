import { describe, expect, it } from "vitest";
import { groupContexts } from "../../../src/explain/analyses/groups.ts";
import { heapTotals } from "../../../src/explain/analyses/totals.ts";
import { isKnown, measure, measuresOfTool } from "../../../src/explain/measures/index.ts";
import { amountsOf, rank } from "../../../src/explain/measures/ranking.ts";
import { profileOfPicture, rawProfileOfPicture } from "../../heap-picture.ts";

const picture = `
  main > parse    10 x 64   life 1   access 32   live 2
  main > cache     2 x 4096 life 500 access 1024 peak 2 live 1
  main > unused    4 x 8    life 20
`;
const profile = profileOfPicture(picture);
const groups = groupContexts(profile, "site");
const values = (id: string) => [...amountsOf(measure(id), { heap: profile }, groups)!.values];

describe("measures of the heap", () => {
  it.each<[string, number[]]>([
    ["bytes", [640, 8192, 32]],
    ["peak", [0, 8192, 0]],
    ["left", [128, 4096, 0]],
    ["blocks", [10, 2, 4]],
    ["accesses", [320, 2048, 0]],
    ["density", [0.5, 0.25, 0]],
    ["lifetime", [1, 500, 20]],
    ["temporary", [8, 0, 0]],
  ])("%s", (id, expected) => {
    expect(values(id)).toEqual(expected);
  });

  it("that need a run are unknown for a raw file alone, the others are the same", () => {
    const raw = rawProfileOfPicture(picture);
    const known = measuresOfTool("heap").filter((one) => isKnown(one, { heap: raw }));
    expect(known.map(({ id }) => id)).toEqual([
      "bytes",
      "blocks",
      "accesses",
      "density",
      "lifetime",
      "temporary",
      "unaccessed",
      "lifetimes",
      "mean-size",
    ]);
  });

  it("that add up give the run's totals", () => {
    const sum = (id: string) => values(id).reduce((a, b) => a + b);
    const { allocations, allocatedBytes, heapAccesses, inContexts } = heapTotals(profile);
    expect([sum("blocks"), sum("bytes"), sum("accesses")]).toEqual([
      allocations,
      allocatedBytes,
      heapAccesses,
    ]);
    expect(inContexts).toEqual({ allocations, bytes: allocatedBytes, accesses: heapAccesses });
    expect([sum("peak"), sum("left")]).toEqual([
      profile.description.totals!.peakBytes,
      profile.description.totals!.liveBytes,
    ]);
  });
});

describe("ranking", () => {
  it("puts the largest first and leaves out what has no part", () => {
    expect(rank(Float64Array.of(3, 0, 7, 3))).toEqual([2, 0, 3]);
  });

  it("smallest first keeps zeros: the coldest is what is looked for", () => {
    expect(rank(Float64Array.of(3, 0, 7, 3), "smallest")).toEqual([1, 0, 3, 2]);
  });
});
