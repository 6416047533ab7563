import { describe, expect, it } from "vitest";
import { boundsOfProcess } from "../../../../src/record/native/collect/recorded-run.ts";
import { Header } from "../../../../src/record/native/layout.ts";

function processWith(fields: Partial<Record<keyof typeof Header, number>>): DataView {
  const view = new DataView(new ArrayBuffer(4096));
  for (const [name, value] of Object.entries(fields))
    view.setUint32(Header[name as keyof typeof Header], value, true);
  return view;
}

describe("what was not seen of a process", () => {
  it("is nothing as a rule: all figures are counts", () => {
    expect(boundsOfProcess(processWith({ threads: 1 }))).toEqual([]);
  });

  it.each([
    ["early", "2 calls of the allocator came before anything could be recorded"],
    ["unrecorded", "2 calls of the allocator were not recorded"],
    ["threadsRefused", "2 threads were not recorded"],
  ] as const)("makes what grows a lower bound, and what is left either: %s", (field, because) => {
    expect(boundsOfProcess(processWith({ [field]: 2 }))).toEqual([
      { figures: ["allocated", "peak", "accesses"], are: "least", because },
      { figures: ["left", "lost", "lives", "unused"], are: "either", because },
    ]);
  });

  it.each(["foldedCalls", "lostStacks", "cutStacks"] as const)(
    "matters to single places alone where stacks are not whole: %s",
    (field) => {
      expect(boundsOfProcess(processWith({ [field]: 1 }))).toMatchObject([{ are: "least", byPlace: true }]);
    },
  );

  it("is everything that a program does by which the process has replaced itself", () => {
    const because = "the program has replaced itself by /bin/true";
    const figures = boundsOfProcess(processWith({}), "/bin/true");
    expect(figures.map((bound) => bound.because)).toEqual([because, because]);
    expect(figures.flatMap((bound) => bound.figures)).toHaveLength(12);
  });

  it("is some accesses where threads share counters, or nobody could read these", () => {
    expect(boundsOfProcess(processWith({ threads: 2 }))).toMatchObject([
      { figures: ["accesses", "written"], are: "least" },
    ]);
    expect(boundsOfProcess(processWith({ countersFailure: 28 }))).toMatchObject([
      { figures: ["accesses"], are: "least" },
      { figures: ["unused"], are: "either" },
    ]);
  });
});
