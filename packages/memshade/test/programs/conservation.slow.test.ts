import { describe, expect, it } from "vitest";
import { readRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import { profile } from "../../src/record/host/profile.ts";
import { programBytes, readTruth, type SiteTruth } from "./fixtures.ts";
import { measuredTruth, profileWasi, stackOf } from "./profiled.ts";

const ACCOUNTS = [
  "allocation/c-functions",
  "allocation/new-delete",
  "allocation/new-delete.mangled",
  "allocation/lifecycle",
  "allocation/accesses",
  "allocation/rust-collections",
];

describe.each(ACCOUNTS)("the profile of %s", (path) => {
  it.each([{}, { exactHistogram: true }, { includeStack: true }])(
    "agrees with the account that the program itself keeps (%o)",
    async (options) => {
      const profiled = await profileWasi(path, options);
      const truth = readTruth(profiled.stdout);
      const sites = [...truth.values()].filter(({ site }) => site !== "*");
      expect(sites.length).toBeGreaterThan(3);
      expect(measuredTruth(profiled, truth)).toEqual(sites);
    },
  );

  it("is the same, byte for byte, when the program runs again", async () => {
    // Both runs start from one line of code, because the caller is a part of the profile.
    const runs = [];
    while (runs.length < 2) runs.push(await profileWasi(path));
    const [one, other] = runs;
    expect(other!.run).toEqual(one!.run);
    expect(Buffer.from(other!.raw)).toEqual(Buffer.from(one!.raw));
  });
});

describe.each([
  "allocation/c-functions",
  "allocation/c-functions.stripped",
  "allocation/new-delete",
  "allocation/lifecycle",
  "allocation/lifecycle.stripped",
  "allocation/accesses",
])("the totals of %s", (path) => {
  it("are those of the program, with names or without", async () => {
    const { run, stdout } = await profileWasi(path);
    const all = readTruth(stdout).get("*") as SiteTruth;
    expect(run.modules[0]?.allocator).toMatchObject({ confirmed: true });
    expect(run.heap).toMatchObject({
      allocations: all.allocations,
      allocatedBytes: all.bytes,
      frees: all.released,
      liveBlocks: all.allocations - all.released,
      liveBytes: all.bytes - all.releasedBytes,
      overflow: { contexts: 0, blocks: 0 },
    });
  });
});

describe("a program with its own arena", () => {
  it("is profiled by the arena's sites when told its names", async () => {
    const profiled = await profileWasi("allocation/arena", {
      allocator: "malloc=arena_alloc,free=arena_release",
    });
    const truth = readTruth(profiled.stdout);
    expect(measuredTruth(profiled, truth)).toEqual([...truth.values()].filter(({ site }) => site !== "*"));
  });
});

describe("recursion that allocates", () => {
  it("has a handful of contexts, however deep it goes", async () => {
    const shallow = await profileWasi("control/recursion", {}, { args: ["10"] });
    const deep = await profileWasi("control/recursion", {}, { args: ["2000"] });
    const stacks = (profiled: typeof deep) =>
      profiled.contexts.map((context) => stackOf(profiled.run, context).join());
    expect(deep.contexts.length).toBeLessThan(40);
    expect(stacks(deep).length).toBe(stacks(shallow).length);
    expect(deep.run.heap?.liveBlocks).toBe(shallow.run.heap?.liveBlocks);
  });
});

describe("an address that is one of several results", () => {
  it("is counted where it points", async () => {
    const calls = ["call", "indirect", "block", "if", "loop", "try", "both"];
    const { run, raw } = await profile(programBytes("wat/multi-value"), async (instantiate) => {
      const { exports } = await instantiate({});
      for (const call of calls) (exports as Record<string, () => number>)[`test_${call}`]?.();
    });
    const accesses = readRaw(raw).contexts.map((context) => [
      stackOf(run, context)[0],
      Number(context.mib.totalAccessCount),
    ]);
    expect(accesses).toEqual(calls.map((call) => [`site_${call}`, 3]));
  });
});
