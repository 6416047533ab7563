import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import { expectTransparent } from "../../support/behaviour.ts";
import { DEFAULT, EXACT, type GranuleCount, MERGED, Watched } from "../../support/counters.ts";

const BULK = wat(`(module
  (memory (export "memory") 1 1)
  (data $bytes "0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
  (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
  (func (export "init") (param i32 i32 i32) (memory.init $bytes (local.get 0) (local.get 1) (local.get 2)))
  (func (export "drop") (data.drop $bytes)))`);

/** One count for every 8 bytes, from the first byte on. */
function count(counts: Record<number, GranuleCount>, at: number, size: number, reads: boolean): void {
  for (let i = 0; i < size; i += 8) {
    const granule = (at + i) & ~7;
    const known = counts[granule] ?? { count: 0, reads: false };
    counts[granule] = { count: known.count + 1, reads: known.reads || reads };
  }
}

/** Merged counters keep the sum, but may count a long range at one address. */
function expectCounts(watched: Watched, expected: Record<number, GranuleCount>): void {
  if (watched.info.counters === "exact") expect(watched.granules()).toEqual(expected);
  else expect(watched.total()).toBe(Object.values(expected).reduce((sum, { count }) => sum + count, 0));
}

describe.each([
  ["exact", EXACT],
  ["merged", MERGED],
  ["default", DEFAULT],
] as const)("bulk memory instructions, %s", (_name, options) => {
  const watched = new Watched(BULK, options);
  const address = fc.integer({ min: 0, max: 2000 });
  const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 1500 }));

  it("count each range of memory.copy once for every 8 bytes", () => {
    fc.assert(
      fc.property(address, address, size, (to, from, bytes) => {
        watched.clear();
        watched.call("copy", to, from, bytes);
        const expected = {};
        count(expected, to, bytes, false);
        count(expected, from, bytes, true);
        expectCounts(watched, expected);
      }),
      { seed: 1 },
    );
  });

  it("count the range of memory.fill, which reads nothing", () => {
    fc.assert(
      fc.property(address, size, (to, bytes) => {
        watched.clear();
        watched.call("fill", to, 7, bytes);
        const expected = {};
        count(expected, to, bytes, false);
        expectCounts(watched, expected);
      }),
      { seed: 2 },
    );
  });

  it("count the range of memory.init", () => {
    for (const bytes of [0, 1, 7, 8, 9, 62, 72]) {
      watched.clear();
      watched.call("init", 1003, 72 - bytes, bytes);
      const expected = {};
      count(expected, 1003, bytes, false);
      expectCounts(watched, expected);
    }
  });

  it("count nothing when they trap", () => {
    watched.clear();
    for (const [name, ...operands] of [
      ["copy", 65000, 0, 1000],
      ["copy", 0, 65000, 1000],
      ["copy", -1, 0, 8],
      ["copy", 65537, 0, 0],
      ["fill", 65535, 1, 2],
      ["fill", 0, 1, -1],
      ["init", 0, 0, 73],
      ["init", 65530, 0, 20],
    ] as const)
      expect(() => watched.call(name, ...operands), `${name} ${operands}`).toThrow(WebAssembly.RuntimeError);
    expect(watched.granules()).toEqual({});
  });

  it("reach to the last byte of memory", () => {
    watched.clear();
    watched.call("fill", 65536 - 12, 1, 12);
    expect(watched.counts()).toEqual({ 65520: 1, 65528: 1 });
    watched.call("copy", 65536, 65536, 0);
    expect(watched.counts()).toEqual({ 65520: 1, 65528: 1 });
  });
});

describe("bulk memory instructions between memories", () => {
  const module = wat(`(module
    (memory $a 1 1) (memory $b 1 1)
    (data $bytes "0123456789abcdef")
    (func (export "out") (memory.copy $b $a (i32.const 104) (i32.const 200) (i32.const 20)))
    (func (export "in") (memory.copy $a $b (i32.const 304) (i32.const 400) (i32.const 20)))
    (func (export "other") (memory.copy $b $b (i32.const 504) (i32.const 600) (i32.const 20)))
    (func (export "fill") (memory.fill $b (i32.const 704) (i32.const 1) (i32.const 20)))
    (func (export "init") (memory.init $b $bytes (i32.const 704) (i32.const 1) (i32.const 10))))`);

  it("count only what happens in memory 0", () => {
    const watched = new Watched(module, EXACT);
    watched.call("out");
    expect(watched.granules()).toEqual({
      200: { count: 1, reads: true },
      208: { count: 1, reads: true },
      216: { count: 1, reads: true },
    });
    watched.clear();
    watched.call("in");
    expect(watched.granules()).toEqual({
      304: { count: 1, reads: false },
      312: { count: 1, reads: false },
      320: { count: 1, reads: false },
    });
    watched.clear();
    for (const name of ["other", "fill", "init"]) watched.call(name);
    expect(watched.granules()).toEqual({});
  });
});

describe("bulk memory instructions in programs", () => {
  it("do what they did, segments dropped and all", () => {
    expectTransparent(BULK, [
      ["init", 64, 3, 60],
      ["copy", 70, 64, 55],
      ["copy", 60, 70, 55],
      ["fill", 3, 255, 200],
      ["drop"],
      ["init", 64, 0, 0],
    ]);
    expectTransparent(BULK, [["drop"], ["init", 64, 0, 1], ["copy", 65530, 1, 7]]);
  });

  it("count with 64-bit addresses too", () => {
    const wide = wat(`(module (memory (export "memory") i64 1 1) (data $bytes "0123456789abcdef")
      (func (export "copy") (param i64 i64 i64) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
      (func (export "fill") (param i64 i32 i64) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
      (func (export "init") (param i64) (memory.init $bytes (local.get 0) (i32.const 2) (i32.const 11))))`);
    const { total } = expectTransparent(wide, [
      ["init", 100n],
      ["copy", 300n, 101n, 33n],
      ["fill", 77n, 3, 100n],
    ]);
    expect(total).toBe(2 + 2 * 5 + 13);
  });
});
