import { expect, it } from "vitest";
import {
  mappedFiles,
  regionOf,
  threadStacks,
} from "../../../../../src/record/native/tools/working-set/read/address-regions.ts";

const MAPS = `555555554000-555555556000 r-xp 00000000 08:01 12 /usr/bin/some
555555757000-555555778000 rw-p 00000000 00:00 0 [heap]
7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0
7ffff0021000-7ffff4000000 ---p 00000000 00:00 0
7ffff4000000-7ffff4021000 rw-p 00000000 00:00 0
7ffff6dff000-7ffff6e00000 ---p 00000000 00:00 0
7ffff6e00000-7ffff7600000 rw-p 00000000 00:00 0
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]
`;

it("finds stacks of threads behind their guards, and takes no arena of the allocator for one", () => {
  expect(threadStacks(MAPS)).toEqual([{ start: 0x7ffff6e00000, end: 0x7ffff7600000 }]);
});

it("tells stacks, static data and everything else apart", () => {
  const known = {
    objects: [{ start: 0x555555554000, end: 0x555555560000 }],
    stacks: threadStacks(MAPS),
    stackTop: 0x7fffffffe000,
  };
  expect(regionOf(0x555555555000, known)).toBe("static");
  expect(regionOf(0x555555757010, known)).toBe("heap");
  expect(regionOf(0x7ffff7000000, known)).toBe("stack");
  expect(regionOf(0x7fffffffd000, known)).toBe("stack");
  expect(regionOf(0x7fffffffd000, { ...known, stackTop: 0 })).toBe("heap");
});

it("knows a mapped file by the same path when it has been removed, and leaves out a folder of ours", () => {
  const maps = `7ffff0000000-7ffff0019000 r--p 00000000 08:01 12                         /tmp/a list.txt
7ffff1000000-7ffff1001000 rw-s 00000000 08:01 13                         /tmp/ours/marks
`;
  const list = { start: 0x7ffff0000000, end: 0x7ffff0019000, name: "/tmp/a list.txt" };
  expect(mappedFiles(maps, "/tmp/ours")).toEqual([list]);
  expect(mappedFiles(maps.replace("list.txt", "list.txt (deleted)"), "/tmp/ours")).toEqual([list]);
});
