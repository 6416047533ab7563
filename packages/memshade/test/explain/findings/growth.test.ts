import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import type { RunHeap } from "../../../src/profile/model/run.ts";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { profileOfPicture } from "../../heap-picture.ts";
import { store, wasteOf } from "../analyses/waste/waste-picture.ts";

function findingsOf(picture: string, heap: Partial<RunHeap> = {}, waste?: WasteFile) {
  const profile = profileOfPicture(picture, {}, heap);
  return runFindings({ heap: withOwnSites(profile, new FrameRules()), waste });
}

describe("growth", () => {
  const VECTOR =
    "main > load > std::vector::push_back  12 x 4096  life 9  access 99  chains 1  copies 11  copied 4088  used 2500";

  it("is copying step by step, with what would have been enough from the start", () => {
    const [growth] = findingsOf(VECTOR);
    expect(growth).toMatchObject({
      kind: "growth",
      amount: 4088,
      unit: "bytes",
      chains: 1,
      copies: 11,
      reserve: 2500,
      place: {
        path: [{ function: "load" }, { function: "main" }],
        via: { function: "std::vector::push_back" },
      },
    });
    // Work: 12 · 99 accesses to blocks, 1000 elsewhere, 50 per allocation; 4088 / 4 of the accesses are copying.
    expect(growth!.part).toBe(1022 / (1188 + 1000 + 600));
  });

  it("has the mean of what its blocks use in the end", () => {
    const [growth] = findingsOf(
      "main > load  90 x 4096  life 9  access 9  chains 30  copies 60  copied 9000  used 2500",
    );
    expect(growth).toMatchObject({ chains: 30, copies: 60, reserve: 2500 });
  });

  it("is none where blocks are made larger once", () => {
    expect(
      findingsOf("main > load  2 x 4096  life 9  access 99  chains 1  copies 1  copied 2000  used 4096"),
    ).toEqual([]);
  });

  it("is none where copying is next to nothing beside the program's other work", () => {
    expect(findingsOf(VECTOR, { otherAccesses: 1_000_000 })).toEqual([]);
  });

  it("is many small steps too, though each finds room behind the block", () => {
    const steps = (some: number) =>
      findingsOf(
        `main > put  ${some} x 3600  life 9  access 9  chains 0  stepped 1  steps ${some}  reallocated ${some}  used 3600`,
      );
    expect(steps(3000)).toMatchObject([
      { kind: "growth", amount: 3000, unit: "calls", chains: 1, copies: 0, reserve: 3600, steps: 3000 },
    ]);
    // 12 steps are enough if the size doubles.
    expect(steps(90)).toEqual([]);
  });

  it("is told once, though the blocks that are outgrown live for a moment", () => {
    expect(findingsOf(`${VECTOR.replace("life 9", "life 0")}  temporary 11`)).toMatchObject([
      { kind: "growth" },
    ]);
  });

  it("is told once, though the waste tool saw the moves too", () => {
    const ips = [{ address: 16, function: "load", file: "load.c", line: 7 }];
    const waste = {
      ...wasteOf({
        stores: [store("main", 1, { bytes_written: 100_000, bytes_read: 100_000, nof_stores: 9 })],
      }),
      reallocations: [{ ips, calls: 400, grown: 400, moves: 100, moved: 20_000 }],
    };
    const kinds = (picture: string, heap?: Partial<RunHeap>) =>
      findingsOf(picture, heap, waste).map(({ kind }) => kind);
    expect(kinds("main > load  1 x 8  life 9  access 9", { growth: undefined })).toContain("moved");
    expect(kinds(VECTOR)).toEqual(["growth"]);
  });
});

describe("over-capacity", () => {
  it("is what lies behind the used half of several blocks, as much of the peak as on average", () => {
    const [found] = findingsOf("main > node  10 x 4096  life 9  access 9  peak 5  spare 40000");
    expect(found).toMatchObject({ kind: "over-capacity", amount: 20_000, blocks: 10, size: 4096, used: 96 });
    expect(found!.part).toBe(20_000 / (5 * 4096));
  });

  it("is none where blocks are used up to more than half, or not live at the peak", () => {
    expect(findingsOf("main > node  10 x 4096  life 9  access 9  peak 5  spare 20000")).toEqual([]);
    expect(
      findingsOf(
        "main > node  10 x 4096  life 9  access 9  spare 40000\nmain > a  1 x 99  life 9  access 1  peak 1",
      ),
    ).toEqual([]);
  });

  it("is a single block only if its unused end is a quarter of the program's memory", () => {
    const buffer = "main > buffer  1 x 131072  life 9  access 9  peak 1  spare 130000";
    expect(findingsOf(buffer)).toMatchObject([{ kind: "over-capacity", amount: 130_000 }]);
    expect(findingsOf(`${buffer}\nmain > work  1 x 400000  life 9  access 9  peak 1`)).toEqual([]);
  });
});
