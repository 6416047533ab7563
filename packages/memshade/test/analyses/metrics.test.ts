import { describe, expect, it } from "vitest";
import { groupContexts } from "../../src/analyses/groups.ts";
import { METRICS, type MetricKey, measureGroups, rank } from "../../src/analyses/metrics.ts";
import { heapTotals } from "../../src/analyses/totals.ts";
import { profileOfPicture, rawProfileOfPicture } from "../heap-picture.ts";

const picture = `
  main > parse    10 x 64   life 1   access 32   live 2
  main > cache     2 x 4096 life 500 access 1024 peak 2 live 1
  main > unused    4 x 8    life 20
`;
const profile = profileOfPicture(picture);
const groups = groupContexts(profile, "site");
const values = (key: MetricKey) => [...measureGroups(profile, groups, key)!];

describe("metrics", () => {
  it.each<[MetricKey, number[]]>([
    ["bytes", [640, 8192, 32]],
    ["peak", [0, 8192, 0]],
    ["live", [128, 4096, 0]],
    ["count", [10, 2, 4]],
    ["accesses", [320, 2048, 0]],
    ["density", [0.5, 0.25, 0]],
    ["lifetime", [1, 500, 20]],
    ["temporary", [8, 0, 0]],
  ])("%s", (key, expected) => {
    expect(values(key)).toEqual(expected);
  });

  it("that need a run are unknown for a raw file alone, the others are the same", () => {
    const raw = rawProfileOfPicture(picture);
    const known = METRICS.filter(
      ({ key }) => measureGroups(raw, groupContexts(raw, "site"), key) !== undefined,
    );
    expect(known.map(({ key }) => key)).toEqual([
      "bytes",
      "count",
      "accesses",
      "density",
      "lifetime",
      "temporary",
    ]);
  });

  it("that add up give the run's totals", () => {
    const sum = (key: MetricKey) => values(key).reduce((a, b) => a + b);
    const { allocations, allocatedBytes, heapAccesses, inContexts } = heapTotals(profile);
    expect([sum("count"), sum("bytes"), sum("accesses")]).toEqual([
      allocations,
      allocatedBytes,
      heapAccesses,
    ]);
    expect(inContexts).toEqual({ allocations, bytes: allocatedBytes, accesses: heapAccesses });
    expect([sum("peak"), sum("live")]).toEqual([
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
