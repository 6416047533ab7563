import { describe, expect, it } from "vitest";
import {
  buildLevels,
  type SnapshotRecord,
  totalOf,
} from "../../../../../src/profile/model/working-set/working-set-series.ts";
import { CONTROL_BYTES, PIECE_BYTES } from "../../../../../src/record/native/tools/working-set/layout.ts";
import { MarkedLines } from "../../../../../src/record/native/tools/working-set/read/marked-lines.ts";

const LINES = PIECE_BYTES / 2;
const INTERVALS = 64;

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("lines of intervals, from their marks", () => {
  it("are as many as sets have that are kept by brute force, at every scale", () => {
    const random = randomNumbers(7);
    const marked = new MarkedLines((address) => (address < LINES * 64 ? "static" : "heap"));
    const records: SnapshotRecord[] = [];
    const touched: { read: Set<number>; written: Set<number> }[] = [];
    for (let i = 0; i < INTERVALS; i++) {
      const read = new Set<number>();
      const written = new Set<number>();
      // Pieces far apart from each other.
      for (const piece of [0, 1, 2 ** 28]) {
        const marks = new Uint8Array(PIECE_BYTES);
        const many = Math.floor(random() * 40);
        for (let one = 0; one < many; one++) {
          const line = Math.floor(random() ** 3 * LINES);
          const how = random() < 0.5 ? 0 : 1;
          marks[2 * line + how] = 1;
          (how === 0 ? read : written).add(piece * LINES + line);
        }
        marked.piece(CONTROL_BYTES + piece * PIECE_BYTES, marks);
      }
      touched.push({ read, written });
      records.push({ scale: 0, interval: i, start: i, end: i + 1, counts: marked.end() });
    }
    const union = (from: number, to: number, of: (one: (typeof touched)[number]) => Iterable<number>) =>
      new Set(touched.slice(from, to).flatMap((one) => [...of(one)]));
    for (const { factor, counts } of buildLevels(records, false))
      counts.lines!.forEach((lines, i) => {
        const [from, to] = [i * factor, (i + 1) * factor];
        const read = union(from, to, (one) => one.read);
        const written = union(from, to, (one) => one.written);
        const all = new Set([...read, ...written]);
        const pages = new Set([...all].map((line) => Math.floor(line / 64)));
        const bigPages = new Set([...all].map((line) => Math.floor(line / 1024)));
        expect([lines, counts.read![i], counts.written![i], counts.both![i]]).toEqual([
          all.size,
          read.size,
          written.size,
          read.size + written.size - all.size,
        ]);
        expect([counts.pages4K![i], counts.pages64K![i]]).toEqual([pages.size, bigPages.size]);
        expect(counts.static![i] + counts.heap![i]).toBe(all.size);
      });
    expect(totalOf(records, "lines")).toBe(union(0, INTERVALS, (one) => [...one.read, ...one.written]).size);
  });

  it("stay exact at larger scales when intervals become twice as long", () => {
    const marked = new MarkedLines(() => "heap");
    const touch = (...lines: number[]) => {
      const marks = new Uint8Array(PIECE_BYTES);
      for (const line of lines) marks[2 * line] = 1;
      marked.piece(CONTROL_BYTES, marks);
    };
    const records: SnapshotRecord[] = [];
    let scale = 0;
    const end = () => {
      const { interval } = marked;
      records.push({ scale, interval, start: 0, end: 1, counts: marked.end() });
    };
    for (const lines of [[1, 2], [2], [3], [1]]) {
      touch(...lines);
      end();
    }
    marked.mergeNeighbours();
    scale++;
    touch(1, 4);
    end();
    const [finest] = buildLevels(records, false);
    expect(finest.counts.lines).toEqual([2, 2, 2]);
    expect(finest.fresh).toEqual([2, 1, 1]);
  });
});
