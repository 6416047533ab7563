import {
  closeSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CONTROL_BYTES, PIECE_BYTES, SHARED_UNITS } from "../../../../src/tools/working-set/native/layout.ts";
import { MarkReader } from "../../../../src/tools/working-set/native/read/mark-reader.ts";
import { MarkStream } from "../../../../src/tools/working-set/native/read/mark-stream.ts";

const isPossible = process.platform === "linux" && process.arch === "x64";
if (!isPossible) console.warn("SKIPPED: marks of native programs are read on x86-64 Linux only");

describe.skipIf(!isPossible)("the process that takes marks out of a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-marks-"));
  const file = join(folder, "marks");
  writeFileSync(file, "");
  truncateSync(file, SHARED_UNITS * CONTROL_BYTES);
  const descriptor = openSync(file, "r+");
  afterAll(() => {
    closeSync(descriptor);
    rmSync(folder, { recursive: true });
  });

  it("hands out each mark once, wherever it lies, and clears it", async () => {
    const found: [number, number][] = [];
    const reader = new MarkReader(folder, file, process.pid, {
      piece: (at, marks) => {
        for (const [i, mark] of marks.entries()) if (mark !== 0) found.push([at + i, mark]);
      },
      taken: () => undefined,
    });
    const last = SHARED_UNITS * CONTROL_BYTES - 1;
    const places = [CONTROL_BYTES, CONTROL_BYTES + PIECE_BYTES - 1, 2 ** 30 + 5, 2 ** 41 + 77, last];
    for (const at of places) writeSync(descriptor, Uint8Array.of(1), 0, 1, at);
    const taken = await reader.take();
    expect(found).toEqual(places.map((at) => [at, 1]));
    expect(taken!.refused).toBe(0);
    expect(taken!.cpu).toBeGreaterThan(0);
    const byte = new Uint8Array(1);
    for (const at of places) {
      readSync(descriptor, byte, 0, 1, at);
      expect(byte[0]).toBe(0);
    }
    found.length = 0;
    writeSync(descriptor, Uint8Array.of(1), 0, 1, 2 ** 30 + 6);
    await reader.take();
    expect(found).toEqual([[2 ** 30 + 6, 1]]);
    reader.close();
  });

  it("is gone without a word where there is no file", async () => {
    const other = mkdtempSync(join(folder, "other-"));
    const reader = new MarkReader(other, join(folder, "none"), process.pid, {
      piece: () => undefined,
      taken: () => undefined,
    });
    expect(await reader.take()).toBeUndefined();
  });
});

describe("what it writes", () => {
  it("is understood in whatever pieces it arrives", () => {
    const words = (...all: number[]) => {
      const bytes = Buffer.alloc(8 * all.length);
      for (const [i, word] of all.entries()) bytes.writeBigUInt64LE(BigInt(word), 8 * i);
      return bytes;
    };
    const marks = Buffer.alloc(PIECE_BYTES, 1);
    const all = Buffer.concat([words(40960), marks, words(0, 5, 6, 7, 9, 0), words(0, 8, 0, 7, 9, 1)]);
    for (const length of [1, 7, 8, 4096, 5000]) {
      const said: unknown[] = [];
      const stream = new MarkStream({
        piece: (at, bytes) => said.push([at, bytes.length, bytes.every((byte) => byte === 1)]),
        taken: (one) => said.push(one),
      });
      for (let at = 0; at < all.length; at += length) stream.add(all.subarray(at, at + length));
      expect(said).toEqual([
        [40960, PIECE_BYTES, true],
        { now: 5, cpu: 6, refused: 7, accesses: 9, isAlone: false },
        { now: 8, cpu: 0, refused: 7, accesses: 9, isAlone: true },
      ]);
    }
  });
});
