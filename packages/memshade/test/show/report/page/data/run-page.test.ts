import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { markWaste, withOwnSites } from "../../../../../src/explain/analyses/frames/mark-frames.ts";
import { runFindings } from "../../../../../src/explain/findings/run-findings.ts";
import type { HeapProfile } from "../../../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../../../src/profile/model/heap-profile-builder.ts";
import { blockMib } from "../../../../../src/profile/model/mib.ts";
import { heapReportJson } from "../../../../../src/show/report/json/heap-report.ts";
import { jsonText } from "../../../../../src/show/report/json/text.ts";
import { packed } from "../../../../../src/show/report/page/data/encode.ts";
import { headOfRun } from "../../../../../src/show/report/page/data/head.ts";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import { pageOfRun } from "../../../../../src/show/report/page/data/run-page.ts";
import { store, wasteOf } from "../../../../explain/analyses/waste/waste-picture.ts";
import { profileOfPicture } from "../../../../heap-picture.ts";
import { DATABASE } from "../../pictures.ts";

const NO_SOURCES = { input: "run", sources: "none", read: () => undefined } as const;

function pageOfHeap(heap: HeapProfile, mostContexts?: number): PageData {
  const findings = runFindings({ heap }, Number.POSITIVE_INFINITY);
  return pageOfRun({ heap }, { ...NO_SOURCES, findings, mostContexts });
}

const heapOf = (picture: string) => withOwnSites(profileOfPicture(picture), new FrameRules());

const weight = (page: PageData, id: string) => page.weights.find((one) => one.id === id)!;
const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
const nameOf = (page: PageData, frame: number) => page.strings[page.frames.function[frame]!]!;

const ONE_BLOCK = {
  accessCount: 1n,
  size: 8,
  allocTimestamp: 0,
  deallocTimestamp: 1,
  allocCpuId: 0,
  deallocCpuId: 0,
};
const BLOCK = blockMib(ONE_BLOCK);

const nativeHeap = () =>
  new HeapProfileBuilder(
    { clock: { kind: "wall", unit: "ms" }, granuleBytes: 8, rawVersion: 5, notTracked: [] },
    [],
  );

describe("the page of a run", () => {
  it("has the sums that --json prints, for every context and in all", () => {
    const heap = heapOf(DATABASE);
    const json = JSON.parse(jsonText(heapReportJson(heap, { input: "run" })));
    const page = pageOfHeap(heap);
    expect(weight(page, "bytes").total).toBe(json.totals.allocatedBytes);
    expect(weight(page, "blocks").total).toBe(json.totals.allocations);
    expect(weight(page, "accesses").total).toBe(json.totals.heapAccesses);
    expect(weight(page, "peak").total).toBe(json.totals.peakBytes);
    expect(weight(page, "left").total).toBe(json.totals.liveBytes);
    for (const { values, total } of page.weights) expect(sum(values)).toBe(total);
    const bytes = json.sites
      .map((site: { totalSize: number }) => site.totalSize)
      .filter((size: number) => size > 0);
    const ofContexts = [...weight(page, "bytes").values].filter((value) => value > 0);
    expect(ofContexts.sort((a, b) => a - b)).toEqual(bytes.sort((a: number, b: number) => a - b));
  });

  it("has the instructions of measured lines alone, each once", () => {
    const file = wasteOf({
      stores: [store("f", 4, { nof_stores: 1, bytes_written: 8, dead_overwritten: 8 })],
    });
    const asked: number[] = [];
    const page = pageOfRun(
      { waste: file },
      {
        ...NO_SOURCES,
        sources: "lines",
        findings: [],
        instructions: (_, address) => {
          asked.push(address);
          return [
            { address: 0x3e, text: "local.get 0", file: "src/f.c", line: 3 },
            { address: 0x40, text: "i32.store", file: "src/f.c", line: 4 },
            { address: 0x43, text: "end", file: undefined, line: 0 },
          ];
        },
      },
    );
    expect(asked).toEqual([0x40]);
    expect(page.code).toMatchObject([{ line: 4, text: ["i32.store"] }]);
    expect(page.strings[page.code![0]!.file]).toBe("src/f.c");
  });

  it("keeps the sums where contexts are merged, and says how many were", () => {
    const heap = heapOf(DATABASE);
    const [whole, bounded] = [pageOfHeap(heap), pageOfHeap(heap, 3)];
    expect(bounded.contexts.length).toBeLessThan(whole.contexts.length);
    for (const { id, total, values } of bounded.weights) {
      expect(total).toBe(weight(whole, id).total);
      expect(sum(values)).toBe(total);
    }
    const { contexts, bound } = bounded.head.merged!;
    expect(bound).toBe(3);
    expect(bounded.contexts.merged!.reduce((total, count) => total + count, 0)).toBe(contexts);
    expect(whole.contexts.merged).toBeUndefined();
    expect(whole.head.merged).toBeUndefined();
  });

  it("has every finding with the contexts that it is about", () => {
    const heap = heapOf(`
      main > load > parse   100 x 64  peak 90  live 90  lost 90
      main > save > parse   100 x 64  peak 30  live 30  lost 30
      main > other           10 x 8   peak 10
    `);
    const page = pageOfHeap(heap);
    const leak = page.findings.find(({ kind }) => kind === "leak")!;
    expect(nameOf(page, leak.path[0]!)).toBe("parse");
    const left = weight(page, leak.weight!);
    const own = [...leak.contexts].map((context) => left.values[context]!);
    expect(own.toSorted()).toEqual([1920, 5760]);
    expect(leak.amount).toBe(7680);
    expect(leak.says).toContain("parse");
  });

  it("has stores in vain with the line of each", () => {
    const figures = { bytes_written: 6400, nof_stores: 100, dead_overwritten: 6400 };
    const waste = wasteOf({ stores: [store("clear", 7, figures)] });
    markWaste(waste, new FrameRules());
    const findings = runFindings({ waste }, Number.POSITIVE_INFINITY);
    const page = pageOfRun({ waste }, { ...NO_SOURCES, findings });
    const [finding] = page.findings;
    expect(finding).toMatchObject({ kind: "dead", tool: "waste", weight: "dead" });
    expect(sum(Float64Array.from(finding!.contexts, (row) => weight(page, "dead").values[row]!))).toBe(
      finding!.amount,
    );
    expect(page.frames.line[finding!.path[0]!]).toBe(7);
  });

  it("is the same byte for byte when it is made again", () => {
    const heap = heapOf(DATABASE);
    expect(packed(pageOfHeap(heap))).toEqual(packed(pageOfHeap(heap)));
  });

  it("tells functions apart of which nothing but their names is known", () => {
    const builder = nativeHeap();
    const named = (name: string) => ({ name, offset: 0 });
    builder.addContext(1n, [named("parse"), named("main")], BLOCK);
    builder.addContext(2n, [named("draw"), named("main")], BLOCK);
    const page = pageOfHeap(builder.build());
    const names = [...page.contexts.frame].map((frame) => nameOf(page, frame));
    expect(names.toSorted()).toEqual(["draw", "main", "parse"]);
  });

  it("tells functions apart that are known by hashes and lines of their own alone, and says what names them", () => {
    const builder = nativeHeap();
    const hashed = (digit: string) => ({ name: `GUID 0x${digit}`, offset: 1 });
    builder.addContext(1n, [hashed("a"), hashed("c")], BLOCK);
    builder.addContext(2n, [hashed("b"), hashed("c")], BLOCK);
    const page = pageOfHeap(builder.build());
    const names = [...page.contexts.frame].map((frame) => nameOf(page, frame));
    expect(names.toSorted()).toEqual(["GUID 0xa", "GUID 0xb", "GUID 0xc"]);
    expect([...page.frames.address]).toEqual([-1, -1, -1]);
    expect(page.head.hints.join()).toContain("--binary-path PROGRAM names them");
  });

  it("says what brings names where most of the bytes are of nobody that is known, however many others have names", () => {
    const nameless = { name: undefined, offset: 1 };
    const named = (index: number) => ({ name: `small_${index}`, offset: 1 });
    const builder = nativeHeap();
    builder.addContext(1n, [nameless], blockMib({ ...ONE_BLOCK, size: 1000 }));
    for (let index = 0; index < 10; index++) builder.addContext(BigInt(2 + index), [named(index)], BLOCK);
    expect(pageOfHeap(builder.build()).head.hints.join()).toMatch(
      /^92\.6 % of the bytes come from code without names or lines/,
    );
    const own = nativeHeap();
    own.addContext(1n, [named(1), nameless, nameless, nameless], BLOCK);
    expect(pageOfHeap(own.build()).head.hints).toEqual([]);
  });

  it("suggests no tools and options to native programs that these do not have", () => {
    const presence = { modules: 4096, shadow: 4096, recorded: 4096 };
    const saidOf = (modules: number) => {
      const waste = wasteOf({ stores: [store("main", 3, { bytes_written: 8 })] });
      const { hints, notTracked } = headOfRun({ waste, presence: { ...presence, modules }, input: "run" });
      return [...hints, ...notTracked].join();
    };
    expect(saidOf(4096)).toMatch(/--exact-histogram|--tool heap,waste,workingset/);
    expect(saidOf(0)).not.toMatch(/--exact-histogram|--tool heap,waste,workingset/);
  });

  it("says first of all that no allocator was followed, and has no figures of the heap then", () => {
    const heap = heapOf("main > parse   1 x 8  peak 1");
    const [module] = heap.modules;
    const why = "a: No allocator was found: allocations are not tracked.";
    const unknown = {
      ...heap,
      description: { ...heap.description, notTracked: [why], recordedBy: "memshade" as const },
      modules: [{ ...module!, start: 0n, end: 100_000n, allocator: { how: "none" as const, functions: [] } }],
    };
    const { hints, keys, notTracked } = pageOfHeap(unknown).head;
    expect(hints[0]).toMatch(/^No allocator was found/);
    expect(hints[0]).toContain(why);
    expect(notTracked).toEqual([]);
    expect(keys).toEqual([]);
  });

  it("keeps names as they are, whatever they look like", () => {
    const hostile = ["</script>", "__proto__", "constructor", "others (3)", "[no call path]", "\u202egnp"];
    const heap = heapOf(hostile.map((name) => `main > ${name}   1 x 8  peak 1`).join("\n"));
    const page = pageOfHeap(heap);
    const names = [...page.contexts.frame].map((frame) => nameOf(page, frame));
    for (const name of hostile) expect(names).toContain(name);
    expect(weight(page, "bytes").total).toBe(8 * hostile.length);
  });
});
