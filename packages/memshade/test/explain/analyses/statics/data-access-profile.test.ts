import { describe, expect, it } from "vitest";
import { dataAccessProfile, staticsReport } from "../../../../src/explain/analyses/statics.ts";
import { statics, variable } from "../../../support/statics-picture.ts";

const VARIABLES = [
  variable("table", 1024, 64),
  variable("ns::state", 1088, 8, { linkageName: "_ZN2ns5stateE", line: 20 }),
  variable("main::cache", 1096, 8),
  variable("errors", 1104, 64),
  variable(undefined, 1168, 16),
];
const profileOf = (...runs: Readonly<Record<number, number[]>>[]) =>
  dataAccessProfile(runs.map((cells) => staticsReport(statics(cells, VARIABLES))));

describe("LLVM's data access profile", () => {
  it("has records of what is hot, by the compiler's names, and knows what is cold", () => {
    const profile = profileOf({ 1024: [900], 1088: [95], 1096: [5] });
    expect(profile.records).toEqual([
      { symbol: "_ZN2ns5stateE", accessCount: 95n, locations: [{ file: "/src/crc.c", line: 20 }] },
      { symbol: "table", accessCount: 900n, locations: [{ file: "/src/crc.c", line: 12 }] },
    ]);
    // A record with few accesses is neither hot nor cold: the compiler treats every record as hot.
    expect(profile.coldSymbols).toEqual(["errors"]);
    expect(profile.coldHashes).toEqual([]);
  });

  it("of several runs adds up, and is cold only what none of them touched", () => {
    const profile = profileOf({ 1024: [1000] }, { 1024: [2000], 1104: [-1] });
    expect(profile.records.map(({ symbol, accessCount }) => [symbol, accessCount])).toEqual([
      ["table", 3000n],
    ]);
    expect(profile.coldSymbols).toEqual(["_ZN2ns5stateE", "main.cache"]);
  });

  it("takes what shares 8 bytes to be as hot as the others there", () => {
    const small = [variable("hits", 1024, 4), variable("misses", 1028, 4)];
    const profile = dataAccessProfile([staticsReport(statics({ 1024: [7] }, small))]);
    expect(profile.records.map(({ symbol }) => symbol)).toEqual(["hits", "misses"]);
  });

  it("of a run without accesses has none", () => {
    expect(profileOf({}).records).toEqual([]);
  });
});
