import { describe, expect, it } from "vitest";
import { MadeUpProcess } from "./made-up-process.ts";

const DATA = 0x5555_0000_0000;
const HEAP = 0x5555_1000_0000;
const AREA = 0x7f00_0000_0000;
const ARENA = 0x7f10_0000_0000;
const STACK = 0x7ffc_0000_0000;
const [PAGE, MIB] = [4096, 2 ** 20];

const DATA_RANGE = [DATA, DATA + PAGE, "rw-p", 7, "/bin/program"] as const;
const HEAP_RANGE = [HEAP, HEAP + MIB, "rw-p", 0, "[heap]"] as const;
const BLOCK = [HEAP + 0x100, 48] as const;

describe("live blocks of a process", () => {
  it("are reachable by its data, and by each other", () => {
    const process = new MadeUpProcess([DATA_RANGE, HEAP_RANGE]);
    const [first, second, third] = [BLOCK, [HEAP + 0x200, 48], [HEAP + 0x300, 48]] as const;
    process.put(DATA + 8, first[0]).put(first[0] + 16, second[0]);
    expect(process.kinds([first, second, third])).toEqual(["reachable", "reachable", "lost"]);
  });

  it("are not reachable by what free memory of the allocator still holds", () => {
    const process = new MadeUpProcess([HEAP_RANGE]).put(HEAP + 0x800, BLOCK[0]);
    expect(process.kinds([BLOCK])).toEqual(["lost"]);
  });

  it("are reachable by memory that the program maps itself, written once or sealed, but by none that shares a device", () => {
    const by = (access: string, inode = 0, path = "") =>
      new MadeUpProcess([HEAP_RANGE, [AREA, AREA + PAGE, access, inode, path]])
        .put(AREA + 64, BLOCK[0])
        .kinds([BLOCK]);
    expect(by("rw-p")).toEqual(["reachable"]);
    expect(by("r--p")).toEqual(["reachable"]);
    expect(by("rw-s", 9, "/dev/shm/table")).toEqual(["reachable"]);
    expect(by("rw-s", 9, "/dev/zero (deleted)")).toEqual(["reachable"]);
    expect(by("rw-s", 9, "/dev/dri/card0")).toEqual(["lost"]);
    expect(by("r--p", 9, "/lib/text")).toEqual(["lost"]);
    expect(by("---p")).toEqual(["lost"]);
    expect(by("rw-s", 9, "/run/memshade/heap.1")).toEqual(["lost"]);
  });

  it("are reachable by thread-local data of the first thread, also behind memory that nobody may touch", () => {
    const end = AREA + 4 * PAGE;
    const control = end - 0x8c0;
    const process = new MadeUpProcess([HEAP_RANGE, [AREA - PAGE, AREA, "---p"], [AREA, end, "rw-p"]]);
    process
      .put(control, control)
      .put(control + 16, control)
      .put(control + 720, 1)
      .put(control - 8, BLOCK[0]);
    expect(process.kinds([BLOCK], { pid: 1 })).toEqual(["reachable"]);
    // The same memory of another thread is the stack of one that has ended.
    expect(process.kinds([BLOCK], { pid: 2 })).toEqual(["lost"]);
  });

  it("are not reachable by free memory of a thread's arena, which is a part of what is mapped there", () => {
    const process = new MadeUpProcess([[ARENA, ARENA + 2 * MIB, "rw-p"]]);
    process.put(ARENA, ARENA + 0x30).put(ARENA + 16, MIB);
    const block = [ARENA + 0x1000, 48] as const;
    expect(process.put(ARENA + 0x2000, block[0]).kinds([block])).toEqual(["lost"]);
    expect(process.put(ARENA + MIB + 64, block[0]).kinds([block])).toEqual(["reachable"]);
  });

  it("have pages of their own where they are large; what is mapped beside these is the program's", () => {
    const process = new MadeUpProcess([[AREA, AREA + 4 * MIB, "rw-p"]]);
    const large = [AREA + MIB + 16, MIB - 32] as const;
    process.put(AREA + MIB + 8, MIB + 2);
    // The first pointer is behind the block's end, on its last page; the second is on the first page of the program's own data.
    process.put(AREA + 2 * MIB - 8, large[0]);
    expect(process.kinds([large])).toEqual(["lost"]);
    expect(process.put(AREA + 2 * MIB, large[0]).kinds([large])).toEqual(["reachable"]);
  });

  it("of another allocator are not reachable by its free memory, but by data right in front of that", () => {
    const OBJECT = AREA - 4 * PAGE;
    const process = new MadeUpProcess([
      [OBJECT, OBJECT + 2 * PAGE, "r--p", 7, "/bin/program"],
      [OBJECT + 2 * PAGE, AREA, "rw-p", 7, "/bin/program"],
      [AREA, AREA + MIB, "rw-p"],
    ]);
    // One segment that ends a page behind the content of the file.
    process
      .put(OBJECT, 0x464c457f)
      .put(OBJECT + 32, 64)
      .put(OBJECT + 56, 1);
    process.put(OBJECT + 64, 1).put(OBJECT + 64 + 40, 5 * PAGE);
    const block = [AREA + 4 * PAGE, 48] as const;
    expect(process.put(AREA + 8 * PAGE, block[0]).kinds([block])).toEqual(["lost"]);
    expect(process.put(AREA + 64, block[0]).kinds([block])).toEqual(["reachable"]);
  });

  it("are reachable by a stack as far as it is in use", () => {
    const process = new MadeUpProcess([HEAP_RANGE, [STACK, STACK + MIB, "rw-p", 0, "[stack]"]]);
    process.put(STACK + MIB / 2, BLOCK[0]);
    expect(process.kinds([BLOCK], { stacks: [STACK + MIB / 4] })).toEqual(["reachable"]);
    expect(process.kinds([BLOCK], { stacks: [STACK + MIB / 2 + 8] })).toEqual(["lost"]);
    // No thread uses this stack any more.
    expect(process.kinds([BLOCK])).toEqual(["lost"]);
  });

  it("are not reachable by the stack of a thread that has ended, which the C library keeps for the next one", () => {
    const process = new MadeUpProcess([HEAP_RANGE, [AREA - PAGE, AREA, "---p"], [AREA, AREA + MIB, "rw-p"]]);
    const self = AREA + MIB - 0x900;
    process.put(AREA + MIB / 2, BLOCK[0]);
    expect(process.kinds([BLOCK])).toEqual(["reachable"]);
    process.put(self, self).put(self + 16, self);
    expect(process.kinds([BLOCK])).toEqual(["lost"]);
    expect(process.kinds([BLOCK], { stacks: [AREA + MIB / 4] })).toEqual(["reachable"]);
  });

  it("are not reachable by the beginnings of the allocator's lists, whose place may be the end of a block", () => {
    const LIBRARY = [AREA, AREA + PAGE, "rw-p", 9, "/lib/libc.so.6"] as const;
    const block = [HEAP + 0x100, 24] as const;
    const process = new MadeUpProcess([HEAP_RANGE, LIBRARY, [AREA + PAGE, AREA + 2 * PAGE, "rw-p"]]);
    expect(process.put(AREA + 64, block[0] + 16).kinds([block])).toEqual(["lost"]);
    expect(process.put(AREA + PAGE + 64, block[0] + 16).kinds([block])).toEqual(["lost"]);
    expect(process.put(AREA + 72, block[0] + 8).kinds([block])).toEqual(["possible"]);
  });

  it("are reachable by what C++ and the C library keep in the place of a block's beginning", () => {
    const by = (size: number, offset: number, words: Readonly<Record<number, number>>) => {
      const process = new MadeUpProcess([DATA_RANGE, HEAP_RANGE]).put(DATA, BLOCK[0] + offset);
      for (const [at, value] of Object.entries(words)) process.put(BLOCK[0] + Number(at), value);
      return process.kinds([[BLOCK[0], size]]);
    };
    // An array of five objects; a string of 10 letters with its owners; a thread's vector of 15 entries; an empty array.
    expect(by(48, 8, { 0: 5 })).toEqual(["reachable"]);
    expect(by(48, 8, { 0: 7 })).toEqual(["possible"]);
    expect(by(35, 24, { 0: 4, 8: 10 })).toEqual(["reachable"]);
    expect(by(35, 24, { 0: 4, 8: 12 })).toEqual(["possible"]);
    expect(by(272, 16, { 0: 15 })).toEqual(["reachable"]);
    expect(by(272, 16, { 0: 16 })).toEqual(["possible"]);
    expect(by(8, 8, { 0: 0 })).toEqual(["reachable"]);
    expect(by(8, 8, { 0: 1 })).toEqual(["lost"]);
  });

  it("are looked through without giving memory to pages that nobody has touched", () => {
    const process = new MadeUpProcess([DATA_RANGE, HEAP_RANGE, [AREA, AREA + 64 * MIB, "rw-p"]]);
    process.put(DATA, BLOCK[0]).put(AREA + 32 * MIB, HEAP + 0x200);
    const kinds = process.kinds([BLOCK, [HEAP + 0x200, 48], [HEAP + 0x8000, 65_536]]);
    expect(kinds).toEqual(["reachable", "reachable", "lost"]);
    expect([...process.seen].filter((page) => page > AREA)).toEqual([AREA + 32 * MIB]);
  });
});
