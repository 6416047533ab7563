import { describe, expect, it } from "vitest";
import type { InstrumentOptions } from "../../../src/record/tools/options.ts";
import { shadowBytesPerByte } from "../../../src/record/tools/shadow-cost.ts";
import { planWaste, type WasteWishes } from "../../../src/record/tools/waste/memory-plan.ts";

const MIB = 2 ** 20;

function plannedBytes(memoryBytes: number, wishes: Pick<WasteWishes, "engine" | "objects">): number {
  const module = { memoryBytes, mostPages: 65536, stores: 1, loads: 1, sites: 2 };
  return planWaste({ ...module, contexts: false, opaque: true, ...wishes }).endBytes;
}

describe("shadow memory per byte of program memory", () => {
  it.each([
    [{ pairs: true }, { engine: "full", objects: false }],
    [{ objects: true }, { engine: "full", objects: true }],
  ] as const)("is what tables of waste with %j grow by", (waste, wishes) => {
    const growth = plannedBytes(96 * MIB, wishes) - plannedBytes(32 * MIB, wishes);
    expect(growth / (64 * MIB)).toBeCloseTo(shadowBytesPerByte({ tools: ["waste"], waste }), 2);
  });

  it("adds up over tools, each named once", () => {
    const of = (...tools: InstrumentOptions["tools"] & string[]) => shadowBytesPerByte({ tools });
    expect(of("heap", "waste")).toBeCloseTo(of("heap") + of("waste"));
    expect(of("heap", "heap")).toBe(of("heap"));
    expect(shadowBytesPerByte({})).toBe(of("heap"));
    expect(of("alloc")).toBeLessThan(of("heap"));
  });

  it("is more for whoever asks for more of the working set", () => {
    const plain = shadowBytesPerByte({ tools: ["workingset"] });
    const locality = shadowBytesPerByte({
      tools: ["workingset"],
      workingset: { locality: { rate: 1 } },
    });
    const owners = shadowBytesPerByte({
      tools: ["workingset"],
      workingset: { attribution: { owners: true } },
    });
    expect(plain).toBeLessThan(locality);
    expect(locality).toBeLessThan(owners);
  });
});
