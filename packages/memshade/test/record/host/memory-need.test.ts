import { describe, expect, it, vi } from "vitest";
import { memoryShortage, memoryWarning, watchMemory } from "../../../src/record/host/memory-need.ts";
import { initialMemory } from "../../../src/record/host/module/module-file.ts";

const MIB = 2 ** 20;
const PAIRS = { tools: ["waste"], waste: { pairs: true } } as const;

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
    expect(memoryShortage(() => 100 * MIB, {}, MIB)).toBeUndefined();
  });

  it("is short where a module's memory does not fit from the start, with the figures", () => {
    const initial = initialMemory(moduleWithMemory(1600));
    expect(initial).toBe(100 * MIB);
    expect(memoryShortage(() => initial, PAIRS, 1053 * MIB)).toBeUndefined();
    expect(memoryShortage(() => initial, PAIRS, 1051 * MIB)).toEqual({
      figures: "100 MiB, which with --pairs may take 1,051 MiB; 1,051 MiB are available",
      help: "leave --pairs out, or run it where there is more memory",
    });
  });

  it("is none for modules without a memory", () => {
    expect(initialMemory(moduleWithMemory(1).slice(0, 8))).toBe(0);
  });

  it("is said to be short once while the program runs, where it becomes so", () => {
    vi.useFakeTimers();
    const said: string[] = [];
    let available = 1600 * MIB;
    const look = (now: number): void => {
      available = now;
      vi.advanceTimersByTime(1000);
    };
    const stop = watchMemory(
      PAIRS,
      (line) => said.push(line),
      () => available,
    );
    look(101 * MIB);
    expect(said).toEqual([]);
    look(99 * MIB);
    look(98 * MIB);
    expect(said).toEqual([
      "memory is running out: 99 MiB are left. --pairs takes up to 10.5 times the memory that the program uses; " +
        "the system may end the run. Use a smaller input, or leave --pairs out",
    ]);
    stop();
    watchMemory(
      { tools: ["waste"] },
      (line) => said.push(line),
      () => available,
    );
    look(0);
    expect(said).toHaveLength(1);
    vi.useRealTimers();
  });
});
