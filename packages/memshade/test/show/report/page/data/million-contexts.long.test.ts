import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../../../src/explain/analyses/frames/mark-frames.ts";
import { decodePage } from "../../../../../src/show/report/page/data/decode.ts";
import { encodePage } from "../../../../../src/show/report/page/data/encode.ts";
import { MOST_CONTEXTS } from "../../../../../src/show/report/page/data/page-builder.ts";
import { pageOfRun } from "../../../../../src/show/report/page/data/run-page.ts";
import { generatedHeap } from "../generated-heap.ts";

const MIB = 2 ** 20;

async function writtenAndRead(contexts: number, intervals: number) {
  const heap = withOwnSites(generatedHeap(contexts, intervals), new FrameRules());
  const options = { input: "generated", findings: [], sources: "none", read: () => undefined } as const;
  const text = await encodePage(pageOfRun({ heap }, options));
  return { heap, size: text.length, page: await decodePage(text) };
}

describe("the page of many calling contexts", () => {
  it("of ten thousand and 512 intervals has all of them, in 2 MiB", async () => {
    const { size, page } = await writtenAndRead(10_000, 512);
    expect(size).toBeLessThan(2 * MIB);
    expect(page.head.merged).toBeUndefined();
    expect(page.timelines[0]!.ends).toHaveLength(512);
  });

  it("of a million has those that matter, and the sums of all, in 10 MiB", async () => {
    const { heap, size, page } = await writtenAndRead(1_000_000, 0);
    expect(size).toBeLessThan(10 * MIB);
    const { totals } = heap.description;
    const sumOf = (id: string) =>
      page.weights.find((weight) => weight.id === id)!.values.reduce((sum, value) => sum + value, 0);
    expect(sumOf("bytes")).toBe(totals!.allocatedBytes);
    expect(sumOf("blocks")).toBe(totals!.allocations);
    expect(sumOf("accesses")).toBe(totals!.heapAccesses);
    expect(sumOf("peak")).toBe(totals!.peakBytes);
    expect(page.head.merged!.bound).toBe(MOST_CONTEXTS);
    expect(page.contexts.merged!.reduce((sum, paths) => sum + paths, 0)).toBe(page.head.merged!.contexts);
  });
});
