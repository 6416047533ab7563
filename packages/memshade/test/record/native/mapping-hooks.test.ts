import { beforeEach, describe, expect, it } from "vitest";
import { Header, MAPPING_BYTES, Mapping, Place } from "../../../src/record/native/layout.ts";
import { NATIVE_LAYOUT } from "../../../src/record/native/memory-layout.ts";
import { ShadowReader } from "../../../src/record/tools/heap/read/read-shadow.ts";
import { FakeProcess } from "./support/fake-process.ts";
import { Machine } from "./support/machine.ts";

const PAGE = 4096;
const AREA = 0x7e80_0000_0000;
const INFO = { clock: "virtual", counters: "merged", tools: ["alloc"] } as const;
const FAILED = -1;

/** Pages of the area, each as a letter for the range that the tables assign it to. */
function picture(process: FakeProcess, pages: number): string {
  const cells = Array.from({ length: pages }, () => ".");
  for (let i = 0; i < process.header(Header.mappings); i++) {
    const at = Place.mappings + i * MAPPING_BYTES;
    const page = (field: number) => (Number(process.view.getBigUint64(at + field, true)) - AREA) / PAGE;
    cells.fill("abcdefgh"[i]!, page(Mapping.start), page(Mapping.end));
  }
  return cells.join("");
}

describe("hooks of mapped memory", () => {
  let process: FakeProcess;
  const read = () =>
    new ShadowReader(process.linear, NATIVE_LAYOUT, { ...INFO, tools: ["alloc"] }).read().totals;
  const map = (page: number, pages: number) =>
    process.hooks.mmap(BigInt(AREA + page * PAGE), BigInt(pages * PAGE), 3n, 0x32n, -1n, 0n);
  const unmap = (page: number, pages: number) =>
    process.hooks.munmap(BigInt(AREA + page * PAGE), BigInt(pages * PAGE));
  const move = (page: number, pages: number, to: number, toPages: number, flags = 1n) => {
    process.library.mremap = () => AREA + to * PAGE;
    process.hooks.mremap(BigInt(AREA + page * PAGE), BigInt(pages * PAGE), BigInt(toPages * PAGE), flags, 0n);
  };

  beforeEach(() => {
    process = new FakeProcess();
    process.site = new Machine([process]).site;
    process.library = { mmap: (address) => address, munmap: () => 0, mremap: (old) => old };
  });

  it("keep what is left of ranges, wherever a part of them goes", () => {
    map(0, 8);
    unmap(0, 2);
    expect(picture(process, 8)).toBe("..aaaaaa");
    unmap(6, 2);
    expect(picture(process, 8)).toBe("..aaaa..");
    unmap(3, 1);
    expect(picture(process, 8)).toBe("..a.bb..");
    expect(read()).toMatchObject({ liveBlocks: 2, liveBytes: 3 * PAGE });
    unmap(0, 8);
    expect(picture(process, 8)).toBe("........");
    expect(read()).toMatchObject({ liveBlocks: 0, liveBytes: 0, unmatchedFrees: 0, overlaps: 0 });
  });

  it("let a new range take the place of what was there, of several too", () => {
    map(0, 2);
    map(2, 2);
    map(4, 2);
    map(1, 4);
    expect(picture(process, 8)).toBe("abbbbc..");
    expect(read()).toMatchObject({ liveBlocks: 3, liveBytes: 6 * PAGE, overlaps: 0 });
  });

  it("follow a range that moves, grows, or of which a part moves", () => {
    map(0, 2);
    move(0, 2, 4, 4);
    expect(picture(process, 8)).toBe("....aaaa");
    expect(read()).toMatchObject({ allocations: 2, liveBlocks: 1, liveBytes: 4 * PAGE });
    move(6, 2, 0, 2);
    expect(picture(process, 8)).toBe("aa..bb..");
    // MREMAP_DONTUNMAP, or a length of 0, keeps the old range.
    move(0, 2, 6, 2, 5n);
    expect(picture(process, 8)).toBe("aa..bbcc");
    expect(read()).toMatchObject({ liveBlocks: 3, overlaps: 0, unmatchedFrees: 0 });
  });

  it("change nothing when the system refuses, and count what is too large to be a block", () => {
    map(0, 2);
    process.library = { mmap: () => FAILED, munmap: () => 0xffff_ffff, mremap: () => FAILED };
    expect(map(0, 1)).toBe(-1n);
    expect(unmap(0, 2)).toBe(-1);
    process.hooks.mremap(BigInt(AREA), BigInt(2 * PAGE), 1n << 50n, 0n, 0n);
    expect(picture(process, 4)).toBe("aa..");
    process.library = { mmap: (address) => address };
    map(16, 2 ** 20);
    expect(read()).toMatchObject({ allocations: 1, liveBytes: 2 * PAGE });
    expect(process.view.getBigUint64(Header.largeRanges, true)).toBe(1n);
    expect(process.view.getBigUint64(Header.largeRangeBytes, true)).toBe(1n << 32n);
  });

  it("leave out what allocators map, and round lengths to pages", () => {
    process.library.malloc = () => {
      map(0, 16);
      return AREA + 64;
    };
    process.hooks.malloc(8n);
    expect(read()).toMatchObject({ allocations: 1, liveBytes: 8 });
    expect(Number(process.view.getBigUint64(Header.unrecorded, true))).toBe(0);
    process.hooks.mmap(BigInt(AREA + 32 * PAGE), 5000n, 3n, 0x22n, -1n, 0n);
    expect(read().liveBytes).toBe(8 + 2 * PAGE);
  });

  it("lock pages when they are touched: all of ours would take gigabytes", () => {
    const flags: number[] = [];
    process.library.mlockall = (asked) => {
      flags.push(asked);
      return 0;
    };
    process.hooks.mlockall(3);
    expect(flags).toEqual([7]);
  });
});
