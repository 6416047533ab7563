import { describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../../src/profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../src/profile/model/indices.ts";
import { framesOfContext } from "../../../../src/profile/model/stacks.ts";
import { describeFrame } from "../../../../src/show/report/frames.ts";
import { heapPicture, profileOfPicture, rawProfileOfPicture } from "../../../heap-picture.ts";

const picture = `
  main > exec > parse   3 x 16  live 1
  main > exec > cache   2 x 64  peak 2
  main > lib!open       1 x 8
  -                     4 x 8
`;

function namesOf(profile: HeapProfile, context: number): string[] {
  return framesOfContext(profile, context as IndexIntoContextTable).map(
    (frame) => describeFrame(profile, frame).function,
  );
}

describe("the tables of a raw profile", () => {
  it("have the call stacks, innermost first", () => {
    const profile = profileOfPicture(picture);
    expect(namesOf(profile, 0)).toEqual(["parse", "exec", "main"]);
    expect(namesOf(profile, 2)).toEqual(["open", "main"]);
    expect(namesOf(profile, 3)).toEqual([]);
  });

  it("hold what is equal only once: a picture of four functions has four frames and five stacks", () => {
    const { frames, functions, stacks, strings } = profileOfPicture(picture);
    expect([functions.length, frames.length, stacks.length]).toEqual([5, 5, 5]);
    expect(strings).toEqual(["main", "exec", "parse", "cache", "open"]);
  });

  it("have callers before what they call", () => {
    const { stacks } = profileOfPicture(picture);
    for (let stack = 0; stack < stacks.length; stack++) expect(stacks.prefix[stack]).toBeLessThan(stack);
  });

  it("join the run's own counts by stack id, in the order of the contexts", () => {
    const { contexts } = profileOfPicture(picture);
    expect([...contexts.site!.liveBytes]).toEqual([16, 0, 0, 0]);
    expect([...contexts.site!.peakBytes]).toEqual([0, 128, 0, 0]);
    expect([...contexts.mibs.allocCount]).toEqual([3, 2, 1, 4]);
  });

  it("of a raw file alone know addresses and sums, nothing else", () => {
    const profile = rawProfileOfPicture(picture);
    expect(profile.contexts.site).toBeUndefined();
    expect(profile.description.totals).toBeUndefined();
    expect(profile.description.clock).toEqual({ kind: "wall", unit: "ms" });
    expect(namesOf(profile, 2)).toEqual(["[00000000]+0x110", "[00000000]+0x110"]);
  });
});

describe("what a profile says that it does not cover", () => {
  const gaps = (...changes: [Parameters<typeof heapPicture>[1]?, Parameters<typeof heapPicture>[2]?]) =>
    profileOfPicture(picture, ...changes).description.notTracked;
  const [app, lib] = heapPicture(picture).run.modules as [never, never] as NonNullable<
    Parameters<typeof heapPicture>[1]
  >["modules"] & {};

  it("is nothing for a run in which all was found", () => {
    expect(gaps()).toEqual([]);
  });

  it("starts with the run's own sentences, then those of its modules by name", () => {
    const modules = [{ ...app!, notTracked: ["Its stack is not counted."] }, lib!];
    expect(gaps({ notTracked: ["A worker was killed."], modules })).toEqual([
      "A worker was killed.",
      "app.wasm: Its stack is not counted.",
    ]);
  });

  it("tells allocators that were refused, not found, or not borne out", () => {
    const allocator = { ...app!.allocator };
    const withAllocators = [
      { ...app!, allocator: { ...allocator, refused: "Its blocks overlap." } },
      { ...lib!, allocator: { how: "none" as const, functions: [] } },
      { ...lib!, start: "0x200000000", name: "x.wasm", allocator: { ...allocator, confirmed: false } },
    ];
    expect(gaps({ modules: withAllocators })).toEqual([
      "app.wasm: Its blocks overlap.",
      "lib.wasm: No allocator was found, so its heap is not profiled.",
      "x.wasm: The functions taken for its allocator did not behave like one: its blocks are not reliable. --allocator names the right functions.",
    ]);
  });

  it("says nothing of a module that glue code made for one function", () => {
    const tiny = { ...lib!, codeBytes: 34, allocator: { how: "none" as const, functions: [] } };
    expect(gaps({ modules: [app!, tiny] })).toEqual([]);
  });

  it("tells overflown tables and contexts that run.json does not know", () => {
    const { sites } = heapPicture(picture).run.heap!;
    expect(gaps({}, { overflow: { contexts: 7, blocks: 9 }, sites: sites.slice(1) })).toEqual([
      expect.stringContaining("The table of call paths was full: 7 allocations"),
      expect.stringContaining("The table of live blocks was full: 9 allocations"),
      "1 of 4 call paths has no entry in run.json and counts as empty.",
    ]);
  });

  it("advises no options for tables of native programs, which are as large as they are", () => {
    const native = { ...app!, object: { kind: "elf" as const, address: 0 } };
    expect(gaps({ modules: [native] }, { overflow: { contexts: 7, blocks: 1 } })).toEqual([
      "The table of call paths was full: 7 allocations of further paths are counted together, as allocations of unknown code.",
      expect.stringContaining("1 allocation is missing in the peak"),
    ]);
  });
});
