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
import {
  CONTROL_BYTES,
  FREED,
  MIXED,
  OWNED_PAGES_BITS,
  OWNERS_BITS,
  PIECE_BYTES,
  SHARED_UNITS,
} from "../../../../../src/record/native/tools/working-set/layout.ts";
import { MarkStream } from "../../../../../src/record/native/tools/working-set/read/mark-stream.ts";
import { MarkReader } from "../../../../../src/record/native/tools/working-set/read/native-session.ts";

const isPossible = process.platform === "linux" && process.arch === "x64";
if (!isPossible) console.warn("SKIPPED: marks of native programs are read on x86-64 Linux only");

describe.skipIf(!isPossible)("the process that takes marks out of a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-marks-"));
  // Programs share their marks in this file system, where files may be this large.
  const shared = mkdtempSync("/dev/shm/memshade-marks-");
  const file = join(shared, "marks");
  writeFileSync(file, "");
  const marksEnd = SHARED_UNITS * CONTROL_BYTES;
  truncateSync(file, marksEnd + 2 ** OWNERS_BITS + 2 ** OWNED_PAGES_BITS);
  const descriptor = openSync(file, "r+");
  afterAll(() => {
    closeSync(descriptor);
    for (const one of [folder, shared]) rmSync(one, { recursive: true });
  });

  it("hands out each mark once, wherever it lies, and clears it", async () => {
    const found: [number, number][] = [];
    const reader = new MarkReader(folder, file, process.pid, {
      piece: (at, marks) => {
        for (const [i, mark] of marks.entries()) if (mark !== 0) found.push([at + i, mark]);
      },
      endSnapshot: () => undefined,
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

  it("tells whose marked lines are: blocks that live, and once those that have ended", async () => {
    const found: [number, number[]][] = [];
    const reader = new MarkReader(
      mkdtempSync(join(folder, "owners-")),
      file,
      process.pid,
      { piece: (at, _, owners) => found.push([at, [...owners!]]), endSnapshot: () => undefined },
      { owners: true },
    );
    const write = (at: number, ...words: number[]) =>
      writeSync(descriptor, new Uint8Array(Uint32Array.from(words).buffer), 0, 4 * words.length, at);
    const mark = (line: number) => writeSync(descriptor, Uint8Array.of(1), 0, 1, CONTROL_BYTES + 2 * line);
    const page = 0x7f00_1234_5000;
    const line = page / 64;
    const ownersAt = marksEnd + page / 4;
    const pageAt = marksEnd + 2 ** OWNERS_BITS + page / 1024;
    const take = async () => {
      found.length = 0;
      expect((await reader.take())!.refused).toBe(0);
      return found;
    };
    const piece = CONTROL_BYTES + Math.floor((2 * line) / PIECE_BYTES) * PIECE_BYTES;
    // The second line of the page has two blocks, one of which has ended; the words of the first line have no owner any more.
    write(ownersAt, 9, 9, 9, 9, 5, 0, FREED + 6, 7);
    write(pageAt, MIXED + FREED + 8);
    mark(line + 1);
    mark(line + 5);
    expect(await take()).toEqual([[piece, [5, 8, 6, 7, 8, 8, 8, 8]]]);
    mark(line + 1);
    mark(line + 5);
    expect(await take()).toEqual([[piece, [5, 0, 0, 7, 0, 0, 0, 0]]]);
    // One block covers the whole page.
    write(pageAt, 4);
    mark(line);
    expect(await take()).toEqual([[piece, [4, 4, 4, 4]]]);
    write(pageAt, FREED + 4);
    mark(line);
    mark(line + 63);
    expect(await take()).toEqual([[piece, [4, 4, 4, 4, 4, 4, 4, 4]]]);
    mark(line);
    expect(await take()).toEqual([[piece, [0, 0, 0, 0]]]);
    reader.close();
  });

  it("is gone without a word where there is no file", async () => {
    const other = mkdtempSync(join(folder, "other-"));
    const reader = new MarkReader(other, join(folder, "none"), process.pid, {
      piece: () => undefined,
      endSnapshot: () => undefined,
    });
    expect(await reader.take()).toBeUndefined();
  });
});

describe("what it writes", () => {
  it("has whose the marked lines are behind their marks, if that is asked for", () => {
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(40960n);
    const marks = Buffer.alloc(PIECE_BYTES);
    for (const at of [0, 1, 7, 4094]) marks[at] = 1;
    const owners = Uint32Array.from({ length: 3 * 4 }, (_, i) => i);
    const all = Buffer.concat([head, marks, new Uint8Array(owners.buffer), head, Buffer.alloc(PIECE_BYTES)]);
    for (const length of [1, 8, 4096, 5000]) {
      const said: unknown[] = [];
      const listener = {
        piece: (at: number, _: Uint8Array, words?: Uint32Array) => said.push([at, [...words!]]),
        endSnapshot: () => undefined,
      };
      const stream = new MarkStream(listener, true);
      for (let at = 0; at < all.length; at += length) stream.add(all.subarray(at, at + length));
      expect(said).toEqual([
        [40960, [...owners]],
        [40960, []],
      ]);
    }
  });

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
        endSnapshot: (one) => said.push(one),
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
