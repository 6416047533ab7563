import { describe, expect, it } from "vitest";
import { WasiRanges } from "../../../../../src/record/tools/waste/read/wasi-ranges.ts";

function memoryOf(words: Record<number, number>): DataView {
  const view = new DataView(new ArrayBuffer(4096));
  for (const [address, value] of Object.entries(words)) view.setUint32(Number(address), value, true);
  return view;
}

const rangesOf = (words: Record<number, number>) => {
  const view = memoryOf(words);
  return new WasiRanges(() => view);
};

describe("what WASI calls touch", () => {
  it("fd_write reads its vectors and as many bytes as it wrote", () => {
    // Two buffers of 10 bytes, of which the call used 14.
    const ranges = rangesOf({ 100: 1000, 104: 10, 108: 2000, 112: 10, 200: 14 });
    expect(ranges.touched("fd_write", [1, 100, 2, 200], 0)).toEqual({
      reads: [
        [100, 16],
        [1000, 10],
        [2000, 4],
      ],
      writes: [[200, 4]],
    });
  });

  it("a program of 64 bits has longer vectors, sizes and pointers", () => {
    const view = memoryOf({ 96: 1000, 104: 10, 112: 2000, 120: 10, 200: 14, 304: 21, 296: 3 });
    const ranges = new WasiRanges(() => view, true);
    expect(ranges.touched("fd_write", [1, 96n, 2n, 200n], 0)).toEqual({
      reads: [
        [96, 32],
        [1000, 10],
        [2000, 4],
      ],
      writes: [[200, 8]],
    });
    expect(ranges.mayWrite("fd_read", [0, 96n, 2n, 200n])).toEqual([
      [1000, 10],
      [2000, 10],
      [200, 8],
    ]);
    expect(ranges.touched("args_sizes_get", [296n, 304n], 0).writes).toEqual([
      [296, 8],
      [304, 8],
    ]);
    expect(ranges.mayWrite("args_get", [400n, 500n])).toEqual([
      [400, 24],
      [500, 21],
    ]);
  });

  it("fd_read writes only what it got", () => {
    const ranges = rangesOf({ 100: 1000, 104: 512, 200: 7 });
    expect(ranges.touched("fd_read", [0, 100, 1, 200], 0)).toEqual({
      reads: [[100, 8]],
      writes: [
        [1000, 7],
        [200, 4],
      ],
    });
  });

  it("a call may write no more than its buffers hold", () => {
    const ranges = rangesOf({ 100: 1000, 104: 512, 108: 2000, 112: 8, 300: 3, 304: 21 });
    expect(ranges.mayWrite("fd_read", [0, 100, 2, 200])).toEqual([
      [1000, 512],
      [2000, 8],
      [200, 4],
    ]);
    expect(ranges.mayWrite("fd_readdir", [3, 500, 64, 0n, 200])).toEqual([
      [500, 64],
      [200, 4],
    ]);
    expect(ranges.mayWrite("fd_write", [1, 100, 2, 200])).toEqual([[200, 4]]);
    expect(ranges.mayWrite("poll_oneoff", [400, 600, 2, 200])).toEqual([
      [600, 64],
      [200, 4],
    ]);
    expect(ranges.mayWrite("random_get", [40, 9])).toEqual([[40, 9]]);
    ranges.touched("args_sizes_get", [300, 304], 0);
    expect(ranges.mayWrite("args_get", [400, 500])).toEqual([
      [400, 12],
      [500, 21],
    ]);
    expect(ranges.mayWrite("fd_read", [0, 4090, 1_000_000, 200])).toEqual([[200, 4]]);
  });

  it("a call that failed has written nothing", () => {
    expect(rangesOf({}).touched("path_open", [3, 0, 500, 9, 0, 0n, 0n, 0, 600], 44)).toEqual({
      reads: [[500, 9]],
      writes: [],
    });
  });

  it("arguments are as long as the sizes call said", () => {
    const ranges = rangesOf({ 300: 3, 304: 21 });
    ranges.touched("args_sizes_get", [300, 304], 0);
    expect(ranges.touched("args_get", [400, 500], 0).writes).toEqual([
      [400, 12],
      [500, 21],
    ]);
  });

  it("addresses outside of the memory do no harm", () => {
    expect(rangesOf({}).touched("fd_write", [1, 0xfffffff0, 1000, 0xffffffff], 0)).toEqual({
      reads: [[0xfffffff0, 8000]],
      writes: [[0xffffffff, 4]],
    });
  });
});
