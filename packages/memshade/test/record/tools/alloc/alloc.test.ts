import { describe, expect, it } from "vitest";
import { heapProfileFromRaw } from "../../../../src/profile/formats/memprof-raw/heap-profile.ts";
import { readRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import { programBytes } from "../../../programs/fixtures.ts";
import { type ProfiledRun, profileWasi } from "../../../programs/profiled.ts";

const PROGRAMS = [
  "allocation/arena",
  "allocation/lifecycle",
  "allocation/new-delete",
  "allocation/rust-collections",
];

function figuresOf({ run, contexts }: ProfiledRun) {
  const {
    heapAccesses: _,
    otherAccesses: _other,
    profilerBytes: _bytes,
    notTracked: _said,
    staticAccesses: _static,
    capacity: _capacity,
    keptAfterUse: _kept,
    // The used part of a block needs accesses, which this tool does not count.
    growth: _growth,
    ...heap
  } = run.heap!;
  const { sites = [], reach, ...totals } = heap;
  return {
    totals: { ...totals, reach: { ...reach, accessesAfter: undefined } },
    contexts: contexts.map(({ pcs, mib }, index) => ({
      pcs,
      blocks: mib.allocCount,
      bytes: mib.totalSize,
      sizes: [mib.minSize, mib.maxSize],
      lifetimes: [mib.minLifetime, mib.maxLifetime, mib.totalLifetime],
      live: [sites[index].liveBlocks, sites[index].liveBytes],
      peak: [sites[index].peakBlocks, sites[index].peakBytes],
      reallocations: sites[index].reallocations,
    })),
  };
}

describe("the tool alloc", () => {
  it.each(PROGRAMS)(
    "sees the blocks of %s that the heap profiler sees, with their call paths",
    async (path) => {
      const heap = await profileWasi(path);
      const alloc = await profileWasi(path, { tools: ["alloc"] });
      expect(alloc.stdout).toBe(heap.stdout);
      expect(figuresOf(alloc)).toEqual(figuresOf(heap));
      expect(alloc.run.heap!.reach).toMatchObject({ accessesAfter: undefined });
      expect(alloc.run.heap!.allocations).toBeGreaterThan(0);
      expect(heap.run.heap!.heapAccesses).toBeGreaterThan(0);
    },
  );

  it("counts no access, and marks them as unknown", async () => {
    const { run, raw, contexts } = await profileWasi(PROGRAMS[0], { tools: ["alloc"] });
    expect(run.heap!.heapAccesses + run.heap!.otherAccesses).toBe(0);
    expect(contexts.every(({ mib }) => mib.totalAccessCount === 0n)).toBe(true);
    expect(run.heap!.notTracked).toEqual([]);
    const { description } = heapProfileFromRaw(readRaw(raw), run, () => () => []);
    expect(description.unknownFields).toContain("totalAccessCount");
    expect(description.unknownFields).not.toContain("totalSize");
  });

  it("is refused beside the heap profiler, which records all that it does", () => {
    expect(() => instrument(programBytes(PROGRAMS[0]), { tools: ["heap", "alloc"] })).toThrow(
      "choose one of them",
    );
  });

  it.each(["exactHistogram", "includeStack", "includeAllocator"])("has no use for %s", (option) => {
    expect(() => instrument(programBytes(PROGRAMS[0]), { tools: ["alloc"], [option]: true })).toThrow(
      "counts no accesses",
    );
  });

  it("leaves a module smaller than the heap profiler does", () => {
    const bytes = programBytes(PROGRAMS[0]);
    const sizeOf = (tool: "alloc" | "heap") => instrument(bytes, { tools: [tool] }).bytes.length;
    expect(sizeOf("alloc")).toBeLessThan(sizeOf("heap"));
  });
});
