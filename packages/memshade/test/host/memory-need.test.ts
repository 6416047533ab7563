import { describe, expect, it } from "vitest";
import { assertMemoryFits, memoryWarning } from "../../src/host/memory-need.ts";

const MIB = 2 ** 20;
const PAIRS = { tools: ["waste"], waste: { pairs: true } } as const;

/** A module whose memory begins with so many pages of 64 KiB. */
function moduleWithMemory(pages: number): Uint8Array {
  const limits = [0x00, (pages & 0x7f) | 0x80, ((pages >> 7) & 0x7f) | 0x80, pages >> 14];
  return Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 5, 1, ...limits);
}

describe("memory that a run needs", () => {
  it("is said before the run where it is many times the program's", () => {
    expect(memoryWarning(PAIRS, 1052 * MIB)).toBe(
      "--pairs takes up to 10.5 times the memory that the program uses: " +
        "the 1,052 MiB available here are enough for 100 MiB of its own",
    );
    expect(memoryWarning({ tools: ["waste"], waste: { pairs: true, objects: true } }, MIB)).toMatch(
      /^--pairs and --objects take up to 11\.0 times/,
    );
  });

  it("is not spoken of where it is not", () => {
    expect(memoryWarning({ tools: ["waste"] }, MIB)).toBeUndefined();
    expect(memoryWarning({ tools: ["heap"], waste: { pairs: true } }, MIB)).toBeUndefined();
    expect(() => assertMemoryFits(moduleWithMemory(1600), "a.wasm", {}, MIB)).not.toThrow();
  });

  it("refuses a module that does not fit from the start, with the figures", () => {
    const module = moduleWithMemory(1600);
    expect(() => assertMemoryFits(module, "a.wasm", PAIRS, 1053 * MIB)).not.toThrow();
    expect(() => assertMemoryFits(module, "a.wasm", PAIRS, 1051 * MIB)).toThrow(
      "a.wasm: its memory begins with 100 MiB, which with --pairs may take 1,051 MiB; 1,051 MiB are available: " +
        "leave --pairs out, or run it where there is more memory",
    );
  });

  it("lets modules without a memory pass", () => {
    expect(() => assertMemoryFits(moduleWithMemory(1).slice(0, 8), "a.wasm", PAIRS, 0)).not.toThrow();
  });
});
