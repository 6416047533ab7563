import { describe, expect, it } from "vitest";
import { totalOf } from "../../../../src/profile/model/working-set/working-set-series.ts";
import {
  instrument,
  type WorkingSetLayout,
  type WorkingSetOptions,
} from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

function touched(body: string, workingset: WorkingSetOptions = {}) {
  const module = wat(`(module (memory (export "memory") 4 4) (data $bytes "0123456789")
    (func (export "run") (param $a i32) ${body}))`);
  return linesOf(module, 0x1000, workingset);
}

function linesOf(module: Uint8Array, address: number | bigint, workingset: WorkingSetOptions = {}) {
  const { bytes, info } = instrument(module, { tools: ["workingset"], workingset });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  (exports.run as (address: number | bigint) => void)(address);
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const reader = new WorkingSetReader(exports["memshade.workingset"] as WebAssembly.Memory, layout);
  const { records, duration } = reader.read();
  return {
    accesses: duration,
    read: totalOf(records, "read"),
    written: totalOf(records, "written"),
    both: totalOf(records, "both"),
    lines: totalOf(records, "lines"),
    pages4K: totalOf(records, "pages4K"),
  };
}

describe("lines touched", () => {
  it.each([
    ["a load inside of a line", "(drop (i32.load (local.get $a)))", { accesses: 1, read: 1, lines: 1 }],
    ["a load across two lines", "(drop (i64.load offset=60 (local.get $a)))", { read: 2, written: 0 }],
    [
      "a vector across two pages",
      "(v128.store offset=4090 (local.get $a) (v128.const i64x2 0 0))",
      { written: 2, pages4K: 2 },
    ],
    [
      "a lane of two bytes",
      "(drop (v128.load16_lane offset=62 0 (local.get $a) (v128.const i64x2 0 0)))",
      { read: 1 },
    ],
    [
      "a fill of 4 KiB",
      "(memory.fill (local.get $a) (i32.const 7) (i32.const 4096))",
      { accesses: 1, written: 64, read: 0 },
    ],
    [
      "a copy onto itself",
      "(memory.copy (local.get $a) (local.get $a) (i32.const 100))",
      { accesses: 1, both: 2, lines: 2 },
    ],
    [
      "data put in",
      "(memory.init $bytes (i32.const 0x203c) (i32.const 0) (i32.const 8))",
      { accesses: 1, written: 2 },
    ],
    ["nothing", "(memory.fill (local.get $a) (i32.const 7) (i32.const 0))", { accesses: 1, lines: 0 }],
    [
      "an atomic",
      "(drop (i32.atomic.rmw.add (local.get $a) (i32.const 1)))",
      { accesses: 1, read: 1, written: 1, both: 1 },
    ],
    [
      "fields of one object",
      "(i64.store (local.get $a) (i64.load offset=24 (local.get $a))) (i64.store offset=56 (local.get $a) (i64.const 1))",
      { accesses: 3, read: 1, written: 1, lines: 1 },
    ],
    [
      "fields in three lines",
      "(i64.store (local.get $a) (i64.const 1)) (i64.store offset=64 (local.get $a) (i64.const 1)) (i64.store offset=130 (local.get $a) (i64.const 1))",
      { written: 3 },
    ],
    [
      "an array of words",
      "(local $i i32) (loop $l (i32.store (i32.add (local.get $a) (i32.shl (local.get $i) (i32.const 2))) (local.get $i)) (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))",
      { accesses: 1000, written: 63, read: 0 },
    ],
  ] as const)("by %s", (_, body, expected) => {
    expect(touched(body)).toMatchObject(expected);
  });

  it.each([
    [0, 64, 1],
    [60, 8, 2],
    [32, 96, 2],
    [63, 127, 3],
    [127, 2, 2],
    [1, 64, 2],
  ])("of %i and the %i bytes from there on are %i (worked example 23)", (from, size, lines) => {
    const fill = `(memory.fill (i32.add (local.get $a) (i32.const ${from})) (i32.const 0) (i32.const ${size}))`;
    expect(touched(fill)).toMatchObject({ lines });
  });

  it("of a place in front of the first one are its own in a 64-bit memory too", () => {
    const body = `(i32.store (i64.add (local.get $a) (i64.const 160)) (i32.const 0))
      (i32.store (local.get $a) (i32.const 0)) (i32.store offset=70 (local.get $a) (i32.const 0))`;
    const module = wat(
      `(module (memory (export "memory") i64 4 4) (func (export "run") (param $a i64) ${body}))`,
    );
    expect(linesOf(module, 0x1000n)).toMatchObject({ accesses: 3, written: 3 });
  });

  it("of an unaligned access are one where accesses are taken to be aligned", () => {
    expect(touched("(drop (i64.load offset=60 (local.get $a)))", { assumeAligned: true })).toMatchObject({
      read: 1,
    });
    expect(
      touched("(drop (i64.load offset=60 align=1 (local.get $a)))", { assumeAligned: true }),
    ).toMatchObject({ read: 2 });
  });

  it("of an unaligned access are one where intervals are of time, unless both ends are asked for", () => {
    const timed = { unit: "wall", interval: 20e6 } as const;
    const unaligned = "(drop (i64.load offset=60 (local.get $a)))";
    expect(touched(unaligned, timed)).toMatchObject({ read: 1 });
    expect(touched(unaligned, { ...timed, assumeAligned: false })).toMatchObject({ read: 2 });
    expect(touched(unaligned, { ...timed, attribution: { fill: true } })).toMatchObject({ read: 2 });
  });

  it.each([{ interval: 0 }, { interval: 1.5 }, { maxIntervals: 7 }, { maxIntervals: 4 }])(
    "with %o are refused in one line",
    (options) => {
      expect(() => touched("", options)).toThrow(/must be/);
    },
  );
});
