import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { attributed, linesByContext, totals } from "../../../support/attributed.ts";

/** An allocator that returns the address its caller passes, so that tests can place blocks. */
const MODULE = wat(`(module (memory (export "memory") 2 2)
  (global $__stack_pointer (mut i32) (i32.const 1024))
  (global (export "__heap_base") i32 (i32.const 2048))
  (data (i32.const 1024) "static data")
  (func $malloc (param $size i32) (param $at i32) (result i32) (local.get $at))
  (func $realloc (param $old i32) (param $size i32) (param $at i32) (result i32) (local.get $at))
  (func $free (param $at i32))
  (func $x (export "x") (param $at i32) (param $size i32)
    (drop (call $malloc (local.get $size) (local.get $at))))
  (func $y (export "y") (param $at i32) (param $size i32)
    (drop (call $malloc (local.get $size) (local.get $at))))
  (func $z (export "z") (param $old i32) (param $at i32) (param $size i32)
    (drop (call $realloc (local.get $old) (local.get $size) (local.get $at))))
  (func (export "free") (param $at i32) (call $free (local.get $at)))
  (func (export "touch1") (param $at i32) (i32.store8 (local.get $at) (i32.const 1)))
  (func (export "touch4") (param $at i32) (drop (i32.load (local.get $at))))
  (func (export "touch8") (param $at i32) (i64.store (local.get $at) (i64.const 1)))
  (func (export "touch16") (param $at i32) (drop (v128.load (local.get $at))))
  (func (export "clear") (param $at i32) (param $size i32)
    (memory.fill (local.get $at) (i32.const 0) (local.get $size))))`);
const ALLOCATOR = "malloc=malloc,free=free,realloc=realloc";

type Exports = Record<string, (...operands: number[]) => void>;

/** Lines start here; the heap begins before. */
const HEAP = 4096;

const recorded = (run: (exports: Exports) => void, interval?: number, maxIntervals?: number) =>
  attributed(
    MODULE,
    {
      allocator: ALLOCATOR,
      ...(interval === undefined ? {} : { interval }),
      ...(maxIntervals === undefined ? {} : { maxIntervals }),
    },
    ({ exports }) => run(exports as Exports),
  );

describe("a line's owners", () => {
  it("share it by the bytes touched (worked example 29)", () => {
    const { owners, levels } = recorded(({ x, y, clear }) => {
      x(HEAP, 16);
      y(HEAP + 32, 16);
      x(HEAP + 64, 64);
      clear(HEAP, 16);
      clear(HEAP + 32, 16);
      clear(HEAP + 64, 8);
    });
    expect(totals(owners as never)).toEqual({ x: 1.5, y: 0.5 });
    expect(levels[0].counts.lines).toEqual([2]);
  });

  it("are apart from the stack, static data and the rest of the heap", () => {
    const { owners } = recorded(({ x, touch1, touch4 }) => {
      x(HEAP + 8, 8);
      touch4(HEAP);
      touch4(HEAP + 12);
      touch1(1000);
      touch1(1030);
    });
    expect(totals(owners as never)).toEqual({ x: 0.5, heap: 0.5, stack: 1, static: 1 });
  });

  it("keep what was touched of a block that was freed, unless the next block there is touched too", () => {
    const { owners } = recorded(({ x, y, free, touch8 }) => {
      x(HEAP, 16);
      touch8(HEAP);
      touch8(HEAP + 8);
      free(HEAP);
      y(HEAP, 8);
      touch8(HEAP);
      free(HEAP);
      x(HEAP + 64, 16);
      touch8(HEAP + 64);
      free(HEAP + 64);
      y(HEAP + 64, 16);
    });
    expect(totals(owners as never)).toEqual({ x: 1.5, y: 0.5 });
  });

  it("are the blocks as they were in each interval", () => {
    const { owners } = recorded(({ x, y, free, touch4 }) => {
      x(HEAP, 8);
      touch4(HEAP);
      touch4(HEAP + 4);
      free(HEAP);
      y(HEAP, 8);
      touch4(HEAP);
    }, 2);
    const intervals = owners?.levels[0].intervals.map((lines) => linesByContext(owners, lines));
    expect(intervals).toEqual([{ x: 1 }, { y: 1 }]);
  });

  it("get a reallocated block by who asked last", () => {
    const { owners } = recorded(({ x, z, touch4 }) => {
      x(HEAP, 16);
      touch4(HEAP);
      z(HEAP, HEAP + 64, 32);
      touch4(HEAP + 80);
    });
    expect(totals(owners as never)).toEqual({ x: 1, z: 1 });
  });

  it("are the same beside the heap profiler", () => {
    const run = ({ exports }: WebAssembly.Instance) => {
      const { x, y, free, clear } = exports as Exports;
      x(HEAP, 100);
      y(HEAP + 112, 16);
      clear(HEAP, 128);
      free(HEAP);
    };
    const alone = attributed(MODULE, { allocator: ALLOCATOR }, run);
    const both = attributed(MODULE, { allocator: ALLOCATOR, heap: true }, run);
    expect(both.owners).toEqual(alone.owners);
    expect(both.firstTouch).toEqual(alone.firstTouch);
    expect(both.fill).toEqual(alone.fill);
  });
});

describe("the fill of lines", () => {
  it("is the distinct bytes touched (worked example 28)", () => {
    const module = wat(`(module (memory 1) (func (export "run")
      (drop (i32.load (i32.const 0)))
      (i64.store (i32.const 0x40) (i64.const 1))
      (drop (i32.load (i32.const 0x1000)))
      (i32.store (i32.const 0x1004) (i32.const 1))
      (drop (i64.load (i32.const 0x103c)))))`);
    const { fill, total } = attributed(module, {}, ({ exports }) => (exports.run as () => void)());
    expect(fill).toEqual({ levels: [{ factor: 1, bytes: [28] }], total: 28 });
    expect(total).toMatchObject({ lines: 4, read: 3, written: 2, both: 1, pages4K: 2, pages64K: 1 });
  });

  it("counts a byte once per interval at each scale, and once in the run", () => {
    const { fill } = recorded(({ touch8, touch4 }) => {
      for (const at of [0, 4, 0, 8, 8, 8, 100]) (at === 4 ? touch4 : touch8)(HEAP + at);
    }, 2);
    expect(fill).toEqual({
      levels: [
        { factor: 1, bytes: [8, 16, 8, 8] },
        { factor: 4, bytes: [24] },
      ],
      total: 24,
    });
  });
});

type Step =
  | { do: "allocate"; site: "x" | "y"; at: number; size: number }
  | { do: "free" | "touch"; at: number; size: number };

const place = fc.nat(63);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("allocate" as const),
      site: fc.constantFrom("x" as const, "y" as const),
      at: place.map((number) => HEAP + number * 32),
      size: fc.integer({ min: 1, max: 32 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("free" as const),
      at: place.map((number) => HEAP + number * 32),
      size: fc.constant(0),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("touch" as const),
      at: fc.nat(2100).map((byte) => HEAP + byte),
      size: fc.constantFrom(1, 4, 8, 16),
    }),
  },
);

/** Largest number of intervals; if there are more, neighbours are merged. */
const mostIntervals = fc.constantFrom(8, 10, 512);

interface Expected {
  bytes: Set<number>;
  shares: Record<string, number>;
}

/** Expected lines of the accesses `[from, to)`, from sets of bytes. A byte belongs to the block in which it was touched last, if any. */
function expectedOf(steps: readonly Step[], from: number, to: number): Expected {
  const live = new Map<number, { site: string; size: number }>();
  const owner = new Map<number, string>();
  let accesses = 0;
  for (const one of steps)
    if (one.do === "allocate") live.set(one.at, { site: one.site, size: one.size });
    else if (one.do === "free") live.delete(one.at);
    else if (accesses++ >= from && accesses <= to)
      for (let byte = one.at; byte < one.at + one.size; byte++) {
        const place = byte - (byte % 32);
        const block = live.get(place);
        if (block !== undefined && byte < place + block.size) owner.set(byte, block.site);
        else if (!owner.has(byte)) owner.set(byte, "heap");
      }
  const shares: Record<string, number> = {};
  const lines = new Map<number, string[]>();
  for (const [byte, site] of owner) lines.set(byte >>> 6, [...(lines.get(byte >>> 6) ?? []), site]);
  for (const sites of lines.values())
    for (const site of sites) shares[site] = (shares[site] ?? 0) + 1 / sites.length;
  return { bytes: new Set(owner.keys()), shares };
}

describe("the owners and the fill of any run", () => {
  it("are those of sets of bytes kept by hand, and add up to the lines", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 30 }),
        mostIntervals,
        (wished, interval, maxIntervals) => {
          // A place is allocated only while it is free.
          const used = new Set<number>();
          const steps = wished.filter((one) => {
            if (one.do === "free") used.delete(one.at);
            if (one.do !== "allocate") return true;
            return used.has(one.at) ? false : used.add(one.at) !== undefined;
          });
          const { owners, firstTouch, fill, levels } = recorded(
            (exports) => {
              for (const one of steps)
                if (one.do === "touch") exports[`touch${one.size}`](one.at);
                else if (one.do === "allocate") exports[one.site](one.at, one.size);
                else exports.free(one.at);
            },
            interval,
            maxIntervals,
          );
          const expectShares = (found: Record<string, number>, shares: Record<string, number>) => {
            expect(Object.keys(found).sort()).toEqual(Object.keys(shares).sort());
            for (const [site, lines] of Object.entries(shares)) expect(found[site]).toBeCloseTo(lines, 4);
          };
          levels.forEach(({ start, end }, level) => {
            start.forEach((from, i) => {
              const { bytes, shares } = expectedOf(steps, from, end[i]);
              expect(fill?.levels[level].bytes[i]).toBe(bytes.size);
              expectShares(linesByContext(owners as never, owners?.levels[level].intervals[i] ?? []), shares);
            });
          });
          expectShares(totals(owners as never), expectedOf(steps, 0, Number.POSITIVE_INFINITY).shares);
          for (const attribution of [owners, firstTouch])
            attribution?.levels.forEach(({ intervals, others }, level) => {
              intervals.forEach((listed, i) => {
                const sum = listed.reduce((lines, [, more]) => lines + more, others[i]);
                expect(sum).toBeCloseTo(levels[level].counts.lines?.[i] as number, 4);
              });
            });
          fill?.levels.forEach(({ bytes }, level) => {
            bytes.forEach((count, i) => {
              expect(count).toBeLessThanOrEqual(64 * (levels[level].counts.lines?.[i] ?? 0));
            });
          });
        },
      ),
      { numRuns: 150 },
    );
  });
});
