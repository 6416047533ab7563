import { describe, expect, it } from "vitest";
import { processMemory } from "../../../../src/record/native/collect/recorded-run.ts";
import { Header } from "../../../../src/record/native/layout.ts";

const STATUS = `Name:\tprogram
VmPeak:\t  999999 kB
VmHWM:\t    5000 kB
VmRSS:\t    4000 kB
RssAnon:\t    2000 kB
RssShmem:\t    1000 kB
`;

function header(words: readonly number[] = []): DataView {
  const view = new DataView(new ArrayBuffer(1024));
  for (const [i, word] of words.entries()) view.setBigUint64(Header.allocator + 8 * i, BigInt(word), true);
  view.setUint32(Header.isAllocatorAsked, words.length === 0 ? 0 : 1, true);
  return view;
}

describe("what a native process had of memory", () => {
  it("is what the kernel said last, without what it shares with the profiler", () => {
    expect(processMemory(header(), STATUS)).toEqual({ residentBytes: 3000 * 1024, peakBytes: 4000 * 1024 });
  });

  it("has what its allocator said when it exited", () => {
    const words = [700, 0, 0, 2, 50, 0, 0, 100, 600, 30];
    expect(processMemory(header(words), STATUS)?.allocator).toEqual({
      heldBytes: 750,
      freeBytes: 600,
      topBytes: 30,
    });
  });

  it("is not known where it ended before anybody asked", () => {
    expect(processMemory(header([1]), "")).toBeUndefined();
    expect(processMemory(header([1]), "Name:\tprogram\nState:\tZ (zombie)\n")).toBeUndefined();
  });
});
